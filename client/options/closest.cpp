#include "client/options/closest.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace hangdbg {

// Optimal string alignment, three rows at a time.
std::size_t edits_between(std::string_view one, std::string_view other) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> above(other.size() + 1);
  for (std::size_t j = 0; j <= other.size(); ++j) {
    above[j] = j;
  }
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::vector<std::size_t> row(other.size() + 1, i);
    for (std::size_t j = 1; j <= other.size(); ++j) {
      row[j] =
          std::min({above[j] + 1, row[j - 1] + 1,
                    above[j - 1] + (one[i - 1] == other[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] &&
          one[i - 2] == other[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = std::exchange(above, std::move(row));
  }
  return above.back();
}

std::optional<std::string> closest(std::string_view typed,
                                   std::span<const std::string> candidates) {
  constexpr std::size_t kLongest = 40;  // no word of ours is longer
  if (typed.size() < 2 || typed.size() > kLongest) {
    return std::nullopt;
  }
  const std::string* best = nullptr;
  std::size_t fewest = std::max<std::size_t>(1, typed.size() / 3) + 1;
  for (const std::string& each : candidates) {
    if (const std::size_t edits = edits_between(typed, each); edits < fewest) {
      fewest = edits;
      best = &each;
    }
  }
  if (best != nullptr) {
    return *best;
  }
  const auto begins = [&](const std::string& each) {
    return each.starts_with(typed);
  };
  if (std::ranges::count_if(candidates, begins) != 1) {
    return std::nullopt;
  }
  return *std::ranges::find_if(candidates, begins);
}

}  // namespace hangdbg
