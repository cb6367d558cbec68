// hangdbg tree: the processes around one, and who waits for whom.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_tree(CLI::App& app, Run& chosen);

}  // namespace hangdbg
