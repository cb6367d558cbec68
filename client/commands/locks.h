// hangdbg locks: the owner and the waiters of each lock, and deadlock cycles.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_locks(cli::Command program);

}  // namespace hangdbg
