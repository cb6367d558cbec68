// hangdbg ps: the Python processes of this machine, those that hang first.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_ps(cli::Command program);

// `hangdbg` alone.
int run_ps();

}  // namespace hangdbg
