// Many processes' stacks as one tree, for a person and for a program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "client/dump/text.h"
#include "client/render.h"
#include "inspector/stack_tree.h"
#include "protocol/json.h"

namespace hangdbg {

std::string tree_text(const StackTree& tree,
                      const DumpStyle& style,
                      const Palette& out);

// `missing`: the processes that could not be read. (The shape is cli.md's.)
Json tree_json(const StackTree& tree,
               const std::vector<std::pair<int, Error>>& missing);

}  // namespace hangdbg
