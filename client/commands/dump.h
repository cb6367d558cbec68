// hangdbg dump PID...: the stacks of all threads, read from outside.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_dump(cli::Command program);

}  // namespace hangdbg
