// A command's answer on each node: as text with the node before each line,
// equal ones once; with --json as one document.
#pragma once

#include <functional>

#include "client/nodes/gather.h"

namespace hangdbg {

// The exit code of the whole command, which was given --via.
int show_each_node(const ViaOption& via, const CommonOptions& common);

// One answer for a person: of the node, what it has printed.
struct NodeText {
  std::string node;
  std::string out, err;
};
// In the order of `nodes`.
void print_node_texts(std::vector<NodeText> texts, const CommonOptions& common);

// What a command runs: on the nodes of --via, if it was given; else `here`.
cli::Run run_via(const ViaOption& via,
                 const CommonOptions& common,
                 std::function<int()> here);

}  // namespace hangdbg
