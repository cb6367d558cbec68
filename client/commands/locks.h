// hangdbg locks: who has which lock, who waits for it, and who for whom in a
// circle.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_locks(cli::Command program);

}  // namespace hangdbg
