// `hangdbg trace PID`: the system calls of a process as they happen.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_trace(CLI::App& app, Run& chosen);

}  // namespace hangdbg
