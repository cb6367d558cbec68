// hangdbg tree: the processes around one, and which waits for which.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_tree(cli::Command program);

}  // namespace hangdbg
