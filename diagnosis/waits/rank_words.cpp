#include "diagnosis/waits/rank_words.h"

#include <fmt/core.h>

namespace hangdbg {

std::string ranks_text(const RankSet& ranks) {
  constexpr std::size_t kMostRanges = 8;
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks",
                     ranks.text(kMostRanges));
}

std::string waits_text(const RankSet& waiting, std::size_t awaited) {
  return fmt::format("{} {} for {}", ranks_text(waiting),
                     waiting.size() == 1 ? "waits" : "wait",
                     awaited == 1 ? "it" : "them");
}

Cause mismatch_cause(const Meeting& meeting) {
  const auto verb = [](const RankSet& ranks) {
    return ranks.size() == 1 ? "is" : "are";
  };
  Cause cause{.id = CauseId::CollectiveMismatch,
              .progress = Progress::Blocked,
              .confidence =
                  meeting.by_number ? Confidence::Certain : Confidence::Likely,
              .summary = fmt::format(
                  "{} {} in {}, {} in {}, {}: they do not match, and wait for "
                  "each other for ever",
                  ranks_text(meeting.mismatched), verb(meeting.mismatched),
                  meeting.what, ranks_text(meeting.most), meeting.others,
                  meeting.where)};
  if (!meeting.others.starts_with("MPI_")) {
    cause.next.push_back(
        {"hangdbg dist --job auto", "how far each group has come"});
  }
  return cause;
}

}  // namespace hangdbg
