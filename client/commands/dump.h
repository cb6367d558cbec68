// hangdbg dump PID...: the stacks of all threads, read from outside.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_dump(CLI::App& app, Run& chosen);

}  // namespace hangdbg
