// hangdbg eval PID EXPR: one expression or statement, in the hung frame.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_eval(CLI::App& app, Run& chosen);

}  // namespace hangdbg
