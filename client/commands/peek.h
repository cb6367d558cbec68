// hangdbg peek PID EXPR: a name and what can be reached from it, read out of
// process.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_peek(cli::Command program);

}  // namespace hangdbg
