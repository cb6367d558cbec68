// Many processes' stacks as one tree, for a person and for a program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/dump/text.h"
#include "client/render.h"
#include "inspector/stack_tree.h"
#include "protocol/json.h"

namespace hangdbg {

// Who is not in the tree, and why.
struct MissingMember {
  std::optional<int> rank;
  std::optional<int> pid;
  Error why;
};

// How its members are spoken of.
enum class Members { Ranks, Processes };

std::string tree_text(const StackTree& tree,
                      Members members,
                      const DumpStyle& style,
                      const Palette& out);

// (The shape is cli.md's.)
Json tree_json(const StackTree& tree,
               Members members,
               const std::vector<MissingMember>& missing);

}  // namespace hangdbg
