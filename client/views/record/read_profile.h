// A profile read back from a file that `record` has written: for two of them to
// be compared.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profiler/profile/profile.h"

namespace hangdbg {

struct ReadProfile {
  std::string path;
  Profile profile;  // by function, without lines: those move with each change
  std::optional<double> lasted_s;  // collapsed stacks do not tell it
  // Of each node, the sum of the squares of its runs: the samples of one run of
  // equal stacks may all be of one moment, and count as one.
  std::vector<double> squares;

  double weight() const { return static_cast<double>(profile.weight()); }
};

// Of the formats jsonl and collapsed. Errors: Usage.
Result<ReadProfile> read_profile(const std::string& path);
// Errors: BadMessage, with the line.
Result<ReadProfile> parse_profile(std::string_view text);

}  // namespace hangdbg
