// hangdbg peek PID EXPR: a name and what hangs on it, read from outside.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_peek(CLI::App& app, Run& chosen);

}  // namespace hangdbg
