// hangdbg tree: the processes around one, and who waits for whom.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_tree(cli::Command program);

}  // namespace hangdbg
