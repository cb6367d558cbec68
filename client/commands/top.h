// hangdbg top PID...: where the time goes, live.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_top(cli::Command program);

}  // namespace hangdbg
