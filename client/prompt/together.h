// One command of the prompt in several ranks at once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/prompt/attached_ranks.h"

namespace hangdbg {

// What one of them has printed, and its exit code.
struct RankPrinted {
  std::string out, err;
  int code = 0;
};
using ShowPrinted =
    std::function<void(const AttachedRank&, const RankPrinted&)>;
// With its rank before each line.
void show_printed(const AttachedRank& rank, const RankPrinted& printed);

// Those that step have all begun before the first is waited for: they may need
// each other. The exit code: of the last that failed.
int run_together(const std::vector<AttachedRank*>& ranks,
                 const std::string& command,
                 const ShowPrinted& show = show_printed);

// Where each of these has stopped; the stops count as seen then.
void show_stops(const std::vector<AttachedRank*>& ranks,
                const ShowPrinted& show = show_printed);

}  // namespace hangdbg
