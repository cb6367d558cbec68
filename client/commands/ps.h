// hangdbg ps: the Python processes of this machine, those that hang first.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_ps(CLI::App& app, Run& chosen);

// `hangdbg` alone.
int run_ps();

}  // namespace hangdbg
