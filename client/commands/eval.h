// hangdbg eval PID EXPR: one expression or statement, in the hung frame.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_eval(cli::Command program);

}  // namespace hangdbg
