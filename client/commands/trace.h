// `hangdbg trace PID`: the system calls of a process as they happen.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_trace(cli::Command program);

}  // namespace hangdbg
