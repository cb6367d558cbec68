// The processes of this machine, as far as /proc shows them.
#pragma once

#include <map>
#include <vector>

#include "base/result.h"

namespace hangdbg {

// Errors: System.
Result<std::vector<int>> list_processes();

// The children of each parent. Errors: System.
Result<std::multimap<int, int>> children_by_parent();

// Those that it has started, and they in turn; ordered by number.
Result<std::vector<int>> descendants_of(int pid);

}  // namespace hangdbg
