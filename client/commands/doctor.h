// hangdbg doctor [PID]: can I attach here, and if not, what mends it?
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_doctor(CLI::App& app, Run& chosen);

}  // namespace hangdbg
