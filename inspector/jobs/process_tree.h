// The parents of the processes that job discovery needs: Python's and all their
// ancestors.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg {

struct AnyProcess {
  int parent = 0;
  std::string name;
};

using ProcessTree = std::map<int, AnyProcess>;

// It, and its ancestors.
void add_with_ancestors(ProcessTree& tree, int pid);

// The nearest one first.
std::vector<int> ancestors(int pid, const ProcessTree& tree);

// Of all of them; not one that only adopts orphans.
std::optional<int> common_ancestor(const std::vector<int>& pids,
                                   const ProcessTree& tree);

// Its starter is gone.
bool is_orphan(int pid, const ProcessTree& tree);

}  // namespace hangdbg
