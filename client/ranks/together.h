// One command of the prompt in several ranks at once.
#pragma once

#include <string>
#include <vector>

#include "client/ranks/attached_ranks.h"

namespace hangdbg {

// Those that step have all begun before the first is waited for: they may need
// each other. What each prints has its rank before it. The exit code: of the
// last that failed.
int run_together(const std::vector<AttachedRank*>& ranks,
                 const std::string& command);

// Where each of these has come to stand, which is seen then.
void show_stops(const std::vector<AttachedRank*>& ranks);

// "[host:3]"
std::string rank_prefix(int rank, const Palette& palette);

}  // namespace hangdbg
