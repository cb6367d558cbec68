// `hangdbg around PID`: what is around a process: limits, libraries, variables.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_around(cli::Command program);

}  // namespace hangdbg
