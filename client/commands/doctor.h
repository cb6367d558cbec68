// hangdbg doctor [PID]: can I attach here, and if not, what mends it?
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_doctor(cli::Command program);

}  // namespace hangdbg
