// Dumps as the tree that a node of --via sends (protocol/reports/node_tree.h),
// and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "inspector/jobs/stack_tree.h"
#include "protocol/reports/dump.h"
#include "protocol/reports/node_tree.h"

namespace hangdbg {

// As merge_dumps makes it.
StackPlace place_of(const reports::DumpedFrame& frame);

reports::NodeTree tree_of(const std::vector<reports::DumpedProcess>& processes);

// The ways of a tree by the nodes in which they end, each made once. The tree
// may be hostile.
class TreeWays {
 public:
  // Errors: BadMessage.
  static Result<TreeWays> of(const reports::NodeTree& tree,
                             StackMerger& merger);

  // Outermost first. Errors: BadMessage, where there is no such node, or all
  // that were asked for are longer than any stacks are.
  Result<std::vector<StackMerger::Place>> to(std::int64_t node);

 private:
  std::vector<StackMerger::Place> places_;  // by node
  std::vector<std::int64_t> parents_;
  std::size_t frames_ = 0;  // of all that were asked for
};

}  // namespace hangdbg
