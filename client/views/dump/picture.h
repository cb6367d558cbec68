// The merged stacks of many processes as a picture: SVG, or a page with it. No
// script is in either; colours are those of the reader's theme.
#pragma once

#include <string>
#include <vector>

#include "client/views/dump/tree_words.h"
#include "inspector/jobs/stack_tree.h"

namespace hangdbg {

struct Picture {
  const StackTree& tree;
  const TreeLabels& labels;
  std::string title;                  // "job run-7 (torch, 8 ranks)"
  std::vector<std::string> findings;  // of all of it: missing ranks
  bool full_filenames = false;
};

std::string picture_svg(const Picture& picture);
std::string picture_html(const Picture& picture);

}  // namespace hangdbg
