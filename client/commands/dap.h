// hangdbg dap: an editor's session on stdin and stdout.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_dap(cli::Command program);

}  // namespace hangdbg
