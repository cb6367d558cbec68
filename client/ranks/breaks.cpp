#include "client/ranks/breaks.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "base/text.h"
#include "client/interrupt.h"
#include "inspector/process_dump.h"
#include "server/old_collectives.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

constexpr auto kLookAgain = milliseconds(50);
// What is over so soon needs no word.
constexpr auto kPatience = milliseconds(500);

struct Raised {
  OldCollectives old;
  RankSet ranks;
  std::map<std::string, RankSet> not_raised;  // why -> who
  std::size_t groups = 0;                     // of the rank that has most
  std::optional<milliseconds> shortest;       // without us
};

Result<Raised> raise_all(AttachedRanks& attached, milliseconds by);
Status await_old(AttachedRanks& attached, Raised& raised, Deadline deadline);
// How far the first of them is, by the group's name and device.
using CommonGroups =
    std::map<std::pair<std::string, std::string>, std::int64_t>;
CommonGroups common_groups(AttachedRanks& attached,
                           const std::vector<JobRank>& ranks);
Status agree_where_to_meet(AttachedRanks& attached,
                           const std::vector<JobRank>& ranks,
                           dap::Collective where);
std::string text(const OldCollective& one, AttachedRanks& attached);
std::optional<milliseconds> waited(int pid);
std::string seconds(milliseconds time);

}  // namespace

Status make_safe_to_hold(AttachedRanks& attached,
                         const Job& job,
                         milliseconds hold_for,
                         Deadline deadline) {
  const auto say = [&](const std::string& line) {
    fmt::print(stderr, "{}\n", attached.err().dim(printable(line)));
  };
  const auto failed = attached.attach_all(job.ranks);
  if (attached.all().empty()) {
    return std::unexpected(failed.begin()->second);
  }
  // A rank may come to stand while another does already.
  const Interruptible interruptible(*attached.all().front()->session);
  Raised raised = TRY(raise_all(attached, 2 * hold_for));
  for (const auto& [pid, error] : failed) {
    raised.not_raised[error.message].add(job.find(pid)->rank);
  }
  if (!job.elsewhere.empty()) {
    raised.not_raised["not on this machine"].add(job.elsewhere);
  }
  if (!job.missing.empty()) {
    raised.not_raised["missing here"].add(job.missing);
  }
  if (const std::string group = raised.old.apart(); !group.empty()) {
    raised
        .not_raised[fmt::format(
            "sends to and receives from single ranks in group {}", group)]
        .add(raised.ranks);
  }
  if (raised.groups > 0) {
    say(
        fmt::format("timeouts of {} process group{} raised on rank {} by {}, "
                    "until we leave",
                    raised.groups, raised.groups == 1 ? "" : "s",
                    raised.ranks.text(8), seconds(2 * hold_for)));
  }
  milliseconds longest = hold_for;
  if (!raised.not_raised.empty() && raised.shortest) {
    longest = std::min(longest, *raised.shortest / 2);
  }
  for (const auto& [why, ranks] : raised.not_raised) {
    say(fmt::format("rank {}: {}", ranks.text(8), why));
  }
  if (longest < hold_for) {
    say(fmt::format("its timeout of {} stays: threads are held for {} at most",
                    seconds(*raised.shortest), seconds(longest)));
  }
  TRY(await_old(attached, raised, deadline));
  return attached.limit(longest, raised.shortest);
}

Status set_on_ranks(AttachedRanks& attached,
                    const std::vector<JobRank>& ranks,
                    PromptBreakpoint wanted,
                    bool together) {
  const auto numbers =
      together ? common_groups(attached, ranks) : CommonGroups();
  if (!numbers.empty()) {
    // Nobody gets there before all are told where they meet.
    wanted.after = {.group = numbers.begin()->first.first,
                    .device = numbers.begin()->first.second,
                    .number = std::numeric_limits<std::int64_t>::max()};
  }
  std::optional<std::string> message;
  RankSet set;
  for (const JobRank& rank : ranks) {
    AttachedRank* const one = TRY(attached.join(rank));
    const Interruptible interruptible(*one->session);
    const PromptBreakpoint* const made = TRY(one->state->breakpoints.add(
        *one->session, wanted, attached.options().deadline()));
    if (!made->verified) {
      message = made->message;
    }
    set.add(rank.rank);
  }
  if (wanted.after) {
    TRY(agree_where_to_meet(attached, ranks, *wanted.after));
  }
  fmt::print(stderr, "{}\n",
             attached.err().dim(printable(
                 fmt::format("breakpoint at {} on rank {}{}", wanted.place(),
                             set.text(8), message ? ": " + *message : ""))));
  return {};
}

namespace {

Result<Raised> raise_all(AttachedRanks& attached, milliseconds by) {
  Raised raised;
  for (AttachedRank* const one : attached.all()) {
    const Interruptible interruptible(*one->session);
    const auto groups =
        attached.process_groups(*one, by, attached.options().deadline());
    if (!groups && groups.error().id == ErrorId::Interrupted) {
      return std::unexpected(groups.error());
    }
    if (!groups) {
      raised.not_raised[groups.error().message].add(one->rank.value_or(0));
      continue;
    }
    raised.old.begin(one->rank.value_or(0), *groups);
    raised.groups = std::max(raised.groups, groups->groups.size());
    for (const auto& group : groups->groups) {
      if (group.timeout_ms) {
        const milliseconds timeout(*group.timeout_ms);
        raised.shortest = std::min(raised.shortest.value_or(timeout), timeout);
      }
    }
    const std::string why = unraised(*groups);
    if (why.empty()) {
      raised.ranks.add(one->rank.value_or(0));
    } else {
      raised.not_raised[why].add(one->rank.value_or(0));
    }
  }
  // One may have begun a collective while the next was raised.
  for (AttachedRank* const one : attached.all()) {
    const Interruptible interruptible(*one->session);
    if (const auto groups =
            attached.process_groups(*one, {}, attached.options().deadline())) {
      raised.old.begin(one->rank.value_or(0), *groups);
    }
  }
  return raised;
}

// Each is over some time: when all have come to it, or by its timeout.
Status await_old(AttachedRanks& attached, Raised& raised, Deadline deadline) {
  const Deadline patience = deadline.capped(kPatience);
  std::string said;
  for (;;) {
    const auto pending = raised.old.pending();
    if (pending.empty()) {
      return {};
    }
    if (patience.expired()) {
      std::string now;
      for (const OldCollective& one : pending) {
        now += text(one, attached) + "\n";
      }
      if (said != now.substr(0, now.find(';'))) {
        fmt::print(stderr, "{}", attached.err().dim(printable(now)));
        said = now.substr(0, now.find(';'));
      }
    }
    if (deadline.expired()) {
      return fail(ErrorId::TimedOut,
                  "no breakpoint was set: a collective that began before is "
                  "not over",
                  "hangdbg dump --merge");
    }
    attached.await(deadline.capped(kLookAgain));
    for (const AttachedRank* const one : attached.all()) {
      if (one->rank) {
        raised.old.look(*one->rank, TRY(attached.process_groups(
                                        *attached.find_rank(*one->rank), {},
                                        attached.options().deadline())));
      }
    }
    if (Interruptible::take()) {
      return fail(ErrorId::Interrupted, "interrupted; nothing was set");
    }
  }
}

// At a collective that none has begun when all have been told.
Status agree_where_to_meet(AttachedRanks& attached,
                           const std::vector<JobRank>& ranks,
                           dap::Collective where) {
  const Deadline deadline = attached.options().deadline();
  for (std::int64_t ahead = 1;; ahead *= 8) {
    const auto far = [&] {
      return common_groups(attached, ranks)[{where.group, where.device}];
    };
    where.number = far() + ahead;
    for (const JobRank& rank : ranks) {
      AttachedRank* const one = attached.find_rank(rank.rank);
      const Interruptible interruptible(*one->session);
      PromptBreakpoint& last = one->state->breakpoints.all().back();
      last.after = where;
      TRY(one->state->breakpoints.update(*one->session, last.number, deadline));
    }
    if (far() < where.number || deadline.expired()) {
      return {};
    }
  }
}

// Of those that all of them are in, and count alike.
CommonGroups common_groups(AttachedRanks& attached,
                           const std::vector<JobRank>& ranks) {
  std::map<std::pair<std::string, std::string>, std::vector<std::int64_t>> all;
  for (const JobRank& rank : ranks) {
    AttachedRank* const one = attached.find_rank(rank.rank);
    dap::ProcessGroups::Body groups;
    if (one != nullptr) {
      groups = attached.process_groups(*one, {}, attached.options().deadline())
                   .value_or(groups);
    }
    for (const auto& group : groups.groups) {
      if (group.sequence) {
        all[{group.name, group.device}].push_back(*group.sequence);
      }
    }
  }
  CommonGroups common;
  for (const auto& [group, numbers] : all) {
    const auto [least, most] = std::ranges::minmax(numbers);
    if (numbers.size() == ranks.size() && most - least < 200) {
      common[group] = most;
    }
  }
  return common;
}

std::string text(const OldCollective& one, AttachedRanks& attached) {
  std::optional<milliseconds> longest;
  for (const int rank : one.inside.numbers()) {
    if (const auto time = waited(attached.find_rank(rank)->pid)) {
      longest = std::max(longest.value_or(*time), *time);
    }
  }
  const std::string left =
      longest && one.timeout.count() > 0
          ? fmt::format(
                ", {} are left",
                seconds(std::max(one.timeout - *longest, milliseconds(0))))
          : "";
  if (one.awaited.empty()) {
    return fmt::format(
        "rank {} is in {}, which it began before: breakpoints are set when it "
        "is over",
        one.inside.text(8), one.group);
  }
  return fmt::format(
      "rank {} waits in collective {} of {} for rank {}; it began with the "
      "timeout of {}{}: breakpoints are set when it is over",
      one.inside.text(8), one.number, one.group, one.awaited.text(8),
      seconds(one.timeout), left);
}

// How long its main thread has been in its call.
std::optional<milliseconds> waited(int pid) {
  const auto process = open_process(pid);
  if (!process) {
    return std::nullopt;
  }
  const auto main =
      dump_thread(LiveSubject(*process), pid, {.may_stop = false});
  return main && main->waiting_s
             ? std::optional(milliseconds(
                   static_cast<std::int64_t>(*main->waiting_s * 1000)))
             : std::nullopt;
}

// "20 s": timeouts are rarely less.
std::string seconds(milliseconds time) {
  return time.count() % 1000 == 0 && time < std::chrono::minutes(10)
             ? fmt::format("{} s", time.count() / 1000)
             : human_duration(time);
}

}  // namespace
}  // namespace hangdbg
