// hangdbg doctor [PID]: whether attaching is possible here, and how to fix it.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_doctor(cli::Command program);

}  // namespace hangdbg
