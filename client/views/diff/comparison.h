// What differs between two sides, outliers first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/views/diff/side.h"
#include "client/views/diff/stacks.h"
#include "inspector/ranks/rank_set.h"

namespace hangdbg {

struct FactDifference {
  std::string group, name;
  std::optional<std::string> a, b;  // none: it is not on that side
  RankSet ranks;                    // of which, in a job
};

struct RankedStackDifference {
  StackDifference stack;
  RankSet ranks;
};

struct Comparison {
  std::vector<FactDifference> facts;
  std::vector<RankedStackDifference> stacks;
  RankSet only_in_a, only_in_b;
  std::vector<std::string> not_compared;  // since one side has nothing of it

  bool equal() const {
    return facts.empty() && stacks.empty() && only_in_a.empty() &&
           only_in_b.empty();
  }
};

// Ranks are compared with each other by their numbers, other processes in their
// order.
Comparison compare(const Side& a, const Side& b);

}  // namespace hangdbg
