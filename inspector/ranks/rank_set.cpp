#include "inspector/ranks/rank_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>

#include "base/text.h"

namespace hangdbg {

void RankSet::add(int rank) {
  if (ranges_.empty() || rank > ranges_.back().last + 1) {
    ranges_.push_back({rank, rank});
    ++size_;
    return;
  }
  // The first range that ends beside it or beyond.
  auto at = std::ranges::lower_bound(ranges_, rank - 1, {}, &Range::last);
  if (rank < at->first - 1) {
    ranges_.insert(at, {rank, rank});
  } else if (rank == at->first - 1) {
    at->first = rank;
  } else if (rank <= at->last) {
    return;  // it is in already
  } else {
    at->last = rank;
    if (const auto next = at + 1;
        next != ranges_.end() && next->first == rank + 1) {
      at->last = next->last;
      ranges_.erase(next);
    }
  }
  ++size_;
}

void RankSet::add(const RankSet& others) {
  if (ranges_.empty()) {
    *this = others;
    return;
  }
  for (const int rank : others.numbers()) {
    add(rank);
  }
}

bool RankSet::contains(int rank) const {
  const auto at = std::ranges::lower_bound(ranges_, rank, {}, &Range::last);
  return at != ranges_.end() && at->first <= rank;
}

std::vector<int> RankSet::numbers() const {
  std::vector<int> numbers;
  numbers.reserve(size_);
  for (const auto& [first, last] : ranges_) {
    for (int rank = first; rank <= last; ++rank) {
      numbers.push_back(rank);
    }
  }
  return numbers;
}

std::string RankSet::text() const {
  return text(ranges_.size());
}

std::string RankSet::text(std::size_t most) const {
  std::string text;
  for (const auto& [first, last] : ranges_ | std::views::take(most)) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", first);
    if (last > first) {
      text += fmt::format("{}{}", last == first + 1 ? "," : "-", last);
    }
  }
  return ranges_.size() > most ? text + ",..." : text;
}

Result<RankChoice> RankChoice::parse(std::string_view text) {
  constexpr int kMost = 10'000'000;
  const auto wrong = [&] {
    return fail(ErrorId::Usage,
                fmt::format("no set of ranks: {}", printable(text)),
                "--ranks 0,3-5 or --ranks all or --ranks '!0'");
  };
  RankChoice choice;
  if (text == "all") {
    return choice;
  }
  choice.others_ = text.starts_with('!');
  for (const std::string_view part : split(text.substr(choice.others_), ',')) {
    const auto dash = part.find('-', 1);
    const auto first = parse_number<int>(part.substr(0, dash));
    const auto last =
        dash == part.npos ? first : parse_number<int>(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > kMost) {
      return wrong();
    }
    for (int rank = *first; rank <= *last; ++rank) {
      choice.ranks_.add(rank);
    }
  }
  return choice;
}

}  // namespace hangdbg
