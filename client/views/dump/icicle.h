// A tree of stacks as boxes that hang from each other: the outermost function
// on top, as wide as there are threads in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inspector/jobs/stack_tree.h"
#include "inspector/ranks/rank_set.h"

namespace hangdbg {

struct IcicleBox {
  enum class Kind {
    Usual,
    Odd,      // no rank of the majority is in it
    Stopped,  // below where a rank is stopped
    Folded,   // what there was no room for
  };
  Kind kind = Kind::Usual;
  const StackNode* node = nullptr;  // none: it is no function's
  std::string note = {};            // what it is then
  RankSet members;
  std::int64_t threads = 0;
  double x = 0, width = 0;
  std::vector<IcicleBox> children = {};
};

struct Icicle {
  IcicleBox root;
  int levels = 0;
};

// `tree` must outlive it. However large that is, some thousand boxes: outliers
// and stopped ones stay. Each has a width that can be seen and pointed at.
Icicle lay_out(const StackTree& tree);

}  // namespace hangdbg
