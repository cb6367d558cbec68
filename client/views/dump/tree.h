// Many processes' stacks as one tree, for a person and for a program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/terminal/render.h"
#include "client/views/dump/differences.h"
#include "client/views/dump/text.h"
#include "client/views/dump/tree_words.h"
#include "inspector/jobs/stack_tree.h"
#include "protocol/json.h"

namespace hangdbg {

// A member that is not in the tree, and why.
struct MissingMember {
  std::optional<int> rank;
  std::optional<int> pid;
  Error why;
  std::optional<std::string> host = {};
};

std::string tree_text(const StackTree& tree,
                      const TreeLabels& labels,
                      const DumpStyle& style,
                      const Palette& out,
                      const std::optional<Differences>& differences = {});

// (The shape is cli.md's.)
Json tree_json(const StackTree& tree,
               const TreeLabels& labels,
               const std::vector<MissingMember>& missing,
               const std::optional<Differences>& differences = {});

}  // namespace hangdbg
