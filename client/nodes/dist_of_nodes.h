// `dist --via`: compares the ranks of all nodes: which are behind in which
// group. What a node says of its connections stays its own.
#pragma once

#include "client/options/options.h"
#include "client/options/via_option.h"

namespace hangdbg {

// The exit code.
int show_dist_of_nodes(const ViaOption& via, const CommonOptions& common);

}  // namespace hangdbg
