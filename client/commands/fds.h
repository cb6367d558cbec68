// `hangdbg fds PID`: what each open descriptor leads to, and the processes at
// the other end.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_fds(cli::Command program);

}  // namespace hangdbg
