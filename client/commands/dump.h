// hangdbg dump PID...: the stacks of all threads, read out of process.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_dump(cli::Command program);

}  // namespace hangdbg
