#include "server/rank_breakpoints/timeout_override.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "inspector/snapshot/process_dump.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

std::optional<milliseconds> waited(int pid);

}  // namespace

void TimeoutOverride::take(int rank,
                           const Result<dap::ProcessGroups::Body>& answer) {
  if (!answer) {
    leave_out(rank, answer.error().message);
    return;
  }
  old_.begin(rank, *answer);
  groups_ = std::max(groups_, answer->groups.size());
  for (const auto& group : answer->groups) {
    if (group.timeout_ms) {
      const milliseconds timeout(*group.timeout_ms);
      shortest_ = std::min(shortest_.value_or(timeout), timeout);
    }
  }
  if (const std::string why = unraised(*answer); !why.empty()) {
    leave_out(rank, why);
  } else {
    raised_.add(rank);
  }
}

void TimeoutOverride::leave_out(const Job& job) {
  if (!job.elsewhere.empty()) {
    not_raised_["not on this machine"].add(job.elsewhere);
  }
  if (!job.missing.empty()) {
    not_raised_["missing here"].add(job.missing);
  }
}

void TimeoutOverride::leave_out(int rank, const std::string& why) {
  not_raised_[why].add(rank);
}

void TimeoutOverride::look_again(int rank,
                                 const dap::ProcessGroups::Body& groups) {
  old_.begin(rank, groups);
}

milliseconds TimeoutOverride::longest() const {
  return shortest_ && !not_raised().empty()
             ? std::min(hold_for_, *shortest_ / parts_)
             : hold_for_;
}

std::vector<std::string> TimeoutOverride::text() const {
  std::vector<std::string> lines;
  if (groups_ > 0) {
    lines.push_back(fmt::format(
        "timeouts of {} process group{} raised on rank {} by {}, until we "
        "leave",
        groups_, groups_ == 1 ? "" : "s", raised_.text(8), timeout_text(by())));
  }
  for (const auto& [why, ranks] : not_raised()) {
    lines.push_back(fmt::format("rank {}: {}", ranks.text(8), why));
  }
  if (longest() < hold_for_) {
    lines.push_back(
        fmt::format("its timeout of {} stays: threads are held for {} at most",
                    timeout_text(*shortest_), timeout_text(longest())));
  }
  return lines;
}

std::vector<TimeoutOverride::Shorter> TimeoutOverride::shorter(
    int rank,
    const dap::ProcessGroups::Body& groups) const {
  std::vector<Shorter> found;
  // Made since: what began in them before this look has the timeout that they
  // were made with.
  for (const auto& group : groups.groups) {
    const milliseconds timeout(group.timeout_ms.value_or(0));
    if (!shortest_ && timeout.count() > 0) {
      found.push_back(
          {timeout / parts_,
           fmt::format("rank {} has made process groups since, with a timeout "
                       "of {}",
                       rank, timeout_text(timeout))});
    }
  }
  const std::string call = shortest_ ? with_fixed_timeout(groups) : "";
  if (!call.empty()) {
    found.push_back({*shortest_ / parts_,
                     fmt::format("rank {} is in {}, whose timeout of {} stays",
                                 rank, call, timeout_text(*shortest_))});
  }
  return found;
}

std::map<std::string, RankSet> TimeoutOverride::not_raised() const {
  auto all = not_raised_;
  if (const std::string group = old_.apart(); !group.empty()) {
    all[fmt::format("sends to and receives from single ranks in group {}",
                    group)]
        .add(raised_);
  }
  return all;
}

std::string describe(const OldCollective& one, const std::map<int, int>& pids) {
  if (one.awaited.empty()) {
    return fmt::format(
        "rank {} is in {}, which it began before: breakpoints are set when it "
        "is over",
        one.inside.text(8), one.group);
  }
  std::optional<milliseconds> longest;
  for (const int rank : one.inside.numbers()) {
    const auto pid = pids.find(rank);
    if (const auto time =
            pid == pids.end() ? std::nullopt : waited(pid->second)) {
      longest = std::max(longest.value_or(*time), *time);
    }
  }
  const std::string left =
      longest && one.timeout.count() > 0
          ? fmt::format(
                ", {} are left",
                timeout_text(std::max(one.timeout - *longest, milliseconds(0))))
          : "";
  return fmt::format(
      "rank {} waits in collective {} of {} for rank {}; it began with the "
      "timeout of {}{}: breakpoints are set when it is over",
      one.inside.text(8), one.number, one.group, one.awaited.text(8),
      timeout_text(one.timeout), left);
}

std::string timeout_text(milliseconds time) {
  return time.count() % 1000 == 0 && time < std::chrono::minutes(10)
             ? fmt::format("{} s", time.count() / 1000)
             : human_duration(time);
}

namespace {

// How long its main thread has been in its call.
std::optional<milliseconds> waited(int pid) {
  const auto process = open_python(pid);
  if (!process) {
    return std::nullopt;
  }
  const auto main = dump_thread(LiveTarget(*process), pid, {.may_stop = false});
  return main && main->waiting_s
             ? std::optional(milliseconds(
                   static_cast<std::int64_t>(*main->waiting_s * 1000)))
             : std::nullopt;
}

}  // namespace
}  // namespace hangdbg
