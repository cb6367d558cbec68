// hangdbg dap: an editor's session on stdin and stdout.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_dap(CLI::App& app, Run& chosen);

}  // namespace hangdbg
