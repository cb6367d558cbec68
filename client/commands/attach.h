// hangdbg attach PID: the prompt in the hung frame, or -c commands there.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_attach(CLI::App& app, Run& chosen);

}  // namespace hangdbg
