// `hangdbg fds PID`: what each open descriptor leads to, and who has the other
// end.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_fds(CLI::App& app, Run& chosen);

}  // namespace hangdbg
