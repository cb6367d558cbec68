// In which variables ranks differ where their ways part: usually the answer (a
// step, an epoch, a shape).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "inspector/jobs/stack_tree.h"

namespace hangdbg {

struct DifferingLocal {
  std::string name;
  std::vector<std::pair<std::string, RankSet>> values;  // in the order of ranks
};

struct Differences {
  StackPlace place;  // the frame, of one of them
  std::vector<DifferingLocal> locals;
};

// At the frame in which the first outliers differ from the others: of the same
// function in both, or else of its caller. `dumps` have locals. Nothing where
// there are no outliers, or they diverge at once.
std::optional<Differences> differing_locals(
    const std::vector<ProcessDump>& dumps,
    const StackTree& tree,
    MemberOf member);

}  // namespace hangdbg
