// `hangdbg around PID`: what is around a process: limits, libraries, variables.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_around(CLI::App& app, Run& chosen);

}  // namespace hangdbg
