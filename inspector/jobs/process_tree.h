// Who was started by whom, of the processes that a look at jobs is about:
// Python's and all above them.
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

// It, and who is above it.
void add_with_ancestors(ProcessTree& tree, int pid);

// The nearest one first.
std::vector<int> ancestors(int pid, const ProcessTree& tree);

// Of all of them; not who only takes orphans.
std::optional<int> common_ancestor(const std::vector<int>& pids,
                                   const ProcessTree& tree);

// Who has started it is gone.
bool is_orphan(int pid, const ProcessTree& tree);

}  // namespace hangdbg
