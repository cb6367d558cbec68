#include "client/views/dist/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/text.h"
#include "client/views/dist/words.h"

namespace hangdbg {
namespace {

// What still moves will have come a moment later.
constexpr std::chrono::milliseconds kMoves{1000};
constexpr std::size_t kMostRangesInReport = 8;
constexpr std::size_t kMostFlows = 20;

// "rank 3 has", "ranks 0-2 have"
std::string has(const DistReport& report, const RankSet& ranks) {
  return report.whose(ranks) + (ranks.size() == 1 ? " has" : " have");
}

void add_group_findings(const DistReport& report,
                        const GroupProgress& group,
                        std::vector<std::string>& found) {
  const RankSet mismatched = group.mismatched();
  const RankSet behind = group.behind();
  if (mismatched.empty() && behind.empty()) {
    return;
  }
  const std::string name = group_words(group);
  const std::int64_t farthest = group.steps.front().begun;
  RankSet first;
  std::map<std::string, RankSet> in;
  for (const GroupStep& step : group.steps) {
    if (step.begun == farthest) {
      first.add(step.ranks);
      in[step.name].add(step.ranks);
    }
  }
  for (const auto& [collective, ranks] : in) {
    if (!ranks.empty() && mismatched.contains(ranks.ranges().front().first)) {
      found.push_back(fmt::format(
          "{} begun {} as collective {} of {}, others "
          "something else: they do not match",
          has(report, ranks), printable(collective), farthest, name));
    }
  }
  for (const GroupStep& step : group.steps) {
    if (step.begun < farthest) {
      found.push_back(fmt::format(
          "{} begun {} {} of {}, {} {}{}", has(report, step.ranks), step.begun,
          step.begun == 1 ? "collective" : "collectives", name,
          report.whose(first), farthest,
          in.size() > 1 || in.begin()->first.empty()
              ? ""
              : fmt::format(" (the last is {})",
                            printable(in.begin()->first))));
    }
  }
}

// What a rank has with others than the job's, as with a server of files, may be
// left open and unread for days. Where ranks are not seen here it may be
// theirs.
bool is_of_job(const DistReport& report, const PeerFlow& flow) {
  return !report.job || flow.store || (flow.from && flow.to) ||
         !report.job->missing.empty() || !report.job->elsewhere.empty() ||
         flow.flow == Flow::Unreachable || flow.flow == Flow::Undelivered;
}

}  // namespace

std::string DistReport::who(std::optional<int> rank,
                            const SocketAddress& address) const {
  if (!rank) {
    return address.text();
  }
  return fmt::format("{} {}", job ? "rank" : "process", *rank);
}

std::string DistReport::whose(const RankSet& ranks) const {
  return job ? fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks",
                           ranks.text(kMostRangesInReport))
             : "process " + ranks.text(kMostRangesInReport);
}

std::vector<std::string> findings(const DistReport& report) {
  std::vector<std::string> found;
  if (report.job) {
    found = findings(*report.job);
  }
  for (const DistRank& one : report.ranks) {
    if (one.look && !one.look->threads.empty() &&
        one.look->threads.front().state.starts_with("stopped")) {
      found.push_back(fmt::format("{}: {}; resume it by kill -CONT {}",
                                  report.who(one.rank, {}),
                                  one.look->threads.front().state, one.pid));
    }
  }
  for (const GroupProgress& group : report.groups) {
    add_group_findings(report, group, found);
  }
  std::size_t flows = 0;
  std::size_t more = 0;
  for (const PeerFlow& flow : report.flows) {
    if (flow.flow == Flow::Quiet || !is_of_job(report, flow) ||
        (flow.flow != Flow::Closed && flow.quiet && *flow.quiet < kMoves)) {
      continue;
    }
    if (++flows > kMostFlows) {
      ++more;
      continue;
    }
    found.push_back(flow_words(report, flow));
  }
  if (more > 0) {
    found.push_back(
        fmt::format("{} more stalled connections (--json lists all)", more));
  }
  return found;
}

}  // namespace hangdbg
