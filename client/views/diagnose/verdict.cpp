#include "client/views/diagnose/verdict.h"

#include <fmt/core.h>

#include <chrono>

#include "base/text.h"

namespace hangdbg {
namespace {

std::string words_of(Progress state) {
  switch (state) {
    case Progress::Running:
      return "runs";
    case Progress::Idle:
      return "is idle";
    case Progress::Polling:
      return "is polling";
    case Progress::Unknown:
      return "waits; cause unknown";
    case Progress::Blocked:
      return "is blocked";
    case Progress::Stuck:
      return "hangs";
  }
  return "?";
}

}  // namespace

std::string verdict_words(const Diagnosis& found) {
  constexpr double kLeast = 1;  // seconds: less is no news
  std::string words = words_of(found.state);
  if (found.hung() && found.cause.confidence != Confidence::Certain) {
    words = "probably " + words;
  }
  const auto waiting_s = found.waiting_s();
  if (found.state != Progress::Running && !found.chain.front().naps &&
      waiting_s && *waiting_s > kLeast) {
    words += fmt::format(" ({}{})",
                         found.chain.front().cause.watched ? "at least " : "",
                         human_duration(std::chrono::nanoseconds(
                             static_cast<std::int64_t>(*waiting_s * 1e9))));
  }
  return words;
}

std::string verdict_line(const Diagnosis& found) {
  const WaitEdge& first = found.chain.front();
  const std::string end = found.cycle > 1 || found.root == 0
                              ? found.cause.summary
                              : end_of_chain(found);
  return fmt::format("{}: {}{}", verdict_words(found),
                     is_at_end(found) ? "" : first.cause.summary + "; ", end);
}

std::string verdict_line(const JobDiagnosis& found) {
  return words_of(found.state) + ": " + found.cause.summary;
}

int exit_code_of(Progress state) {
  switch (state) {
    case Progress::Running:
    case Progress::Idle:
      return 0;
    case Progress::Polling:
      return 10;
    case Progress::Unknown:
      return 11;
    case Progress::Blocked:
      return 12;
    case Progress::Stuck:
      return 13;
  }
  return 0;
}

}  // namespace hangdbg
