// hangdbg peek PID EXPR: a name and what hangs on it, read from outside.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_peek(cli::Command program);

}  // namespace hangdbg
