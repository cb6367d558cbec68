// hangdbg attach PID: the prompt in the hung frame, or -c commands there.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_attach(cli::Command program);

}  // namespace hangdbg
