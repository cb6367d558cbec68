// hangdbg diff: what is different where it hangs.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_diff(cli::Command program);

}  // namespace hangdbg
