// Asks all nodes of --via: shows progress while they answer, and then which
// have not, and why.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/options/options.h"
#include "client/options/via_option.h"
#include "nodes/asking/ask.h"

namespace hangdbg {

// The words that were typed, as a node gets them: behind "hangdbg", without
// --via. Ranks that are on another node are nothing to report there.
std::vector<std::string> words_for_nodes();
// Without that option; `value`: and without what follows it.
void remove_option(std::vector<std::string>& words,
                   std::string_view name,
                   bool value);
// Ahead of what is no option any more ("--").
void add_option_word(std::vector<std::string>& words, std::string word);

struct FailedNode {
  std::string node;
  Error why;
};

// What is left when all answers have been taken.
struct AskedNodes {
  std::size_t count = 0;
  std::vector<FailedNode> failed;  // in the order of the nodes
  std::size_t without_ranks = 0;   // that have none of --ranks
};

struct HowToAsk {
  bool together = false;  // NodeQuestion::together
};

// `take`: each answer that has come, as it comes. What nodes have printed
// besides is written to stderr. Errors: Usage, System, Interrupted.
Result<AskedNodes> gather_from_nodes(
    const ViaOption& via,
    const CommonOptions& common,
    std::vector<std::string> words,
    const std::function<void(NodeAnswer)>& take,
    const HowToAsk& how = {});

// On stderr: "n[3-4]: no answer in 17 s", equal reasons in one line.
void report_failed(const std::vector<FailedNode>& failed, const Palette& err);

// Of all: theirs if it is the same everywhere; 1 where some have failed; the
// error's where all have.
int code_of_nodes(const AskedNodes& asked, const std::vector<int>& codes);

}  // namespace hangdbg
