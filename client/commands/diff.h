// hangdbg diff: what is different where it hangs.
#pragma once

#include "client/cli.h"

namespace hangdbg {

void add_diff(cli::Command program);

}  // namespace hangdbg
