#include "client/ranks/breaks.h"

#include <fmt/core.h>

#include <algorithm>
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

Raised raise_all(AttachedRanks& attached, milliseconds by);
Status await_old(AttachedRanks& attached, Raised& raised, Deadline deadline);
std::optional<dap::Collective> next_collective(
    AttachedRanks& attached,
    const std::vector<JobRank>& ranks);
std::map<std::string, std::int64_t> common_groups(
    AttachedRanks& attached,
    const std::vector<JobRank>& ranks);
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
  Raised raised = raise_all(attached, 2 * hold_for);
  for (const auto& [pid, error] : failed) {
    raised.not_raised[error.message].add(job.find(pid)->rank);
  }
  if (!job.elsewhere.empty()) {
    raised.not_raised["not on this machine"].add(job.elsewhere);
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
  attached.limit(longest, raised.shortest);
  return {};
}

Status set_on_ranks(AttachedRanks& attached,
                    const std::vector<JobRank>& ranks,
                    PromptBreakpoint wanted,
                    bool together) {
  if (together) {
    wanted.after = next_collective(attached, ranks);
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
  fmt::print(stderr, "{}\n",
             attached.err().dim(printable(
                 fmt::format("breakpoint at {} on rank {}{}", wanted.place(),
                             set.text(8), message ? ": " + *message : ""))));
  return {};
}

namespace {

Raised raise_all(AttachedRanks& attached, milliseconds by) {
  Raised raised;
  for (AttachedRank* const one : attached.all()) {
    const Interruptible interruptible(*one->session);
    const auto groups =
        attached.process_groups(*one, by, attached.options().deadline());
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
    for (const OldCollective& one : pending) {
      for (const int rank : one.awaited.numbers()) {
        AttachedRank* const late = attached.find_rank(rank);
        const Interruptible interruptible(*late->session);
        raised.old.look(rank, TRY(attached.process_groups(
                                  *late, {}, attached.options().deadline())));
      }
    }
    if (Interruptible::take()) {
      return fail(ErrorId::Interrupted, "interrupted; nothing was set");
    }
  }
}

// One that none of them has begun when all have the breakpoint. Nothing: they
// have no group in common, or it does nothing.
std::optional<dap::Collective> next_collective(
    AttachedRanks& attached,
    const std::vector<JobRank>& ranks) {
  const auto before = common_groups(attached, ranks);
  attached.await(Deadline::in(kLookAgain));
  std::optional<dap::Collective> next;
  std::int64_t most = 0;
  for (const auto& [group, number] : common_groups(attached, ranks)) {
    const auto found = before.find(group);
    const std::int64_t more =
        found == before.end() ? 0 : number - found->second;
    if (!next || more > most) {
      // As fast as now, they have time to be asked one after the other.
      const auto rounds = static_cast<std::int64_t>(2 * ranks.size());
      next = {.group = group, .number = number + 1 + more * rounds};
      most = more;
    }
  }
  return next;
}

// Of those that all of them are in: how far the first of them has come.
std::map<std::string, std::int64_t> common_groups(
    AttachedRanks& attached,
    const std::vector<JobRank>& ranks) {
  std::map<std::string, std::int64_t> numbers;
  std::map<std::string, std::size_t> members;
  for (const JobRank& rank : ranks) {
    AttachedRank* const one = attached.find_rank(rank.rank);
    dap::ProcessGroups::Body groups;
    if (one != nullptr) {
      groups = attached.process_groups(*one, {}, attached.options().deadline())
                   .value_or(groups);
    }
    for (const auto& group : groups.groups) {
      if (group.sequence && ++members[group.name] <= ranks.size()) {
        numbers[group.name] = std::max(numbers[group.name], *group.sequence);
      }
    }
  }
  std::erase_if(numbers, [&](const auto& one) {
    return members[one.first] < ranks.size();
  });
  return numbers;
}

std::string text(const OldCollective& one, AttachedRanks& attached) {
  std::optional<milliseconds> longest;
  for (const int rank : one.inside.numbers()) {
    if (const auto time = waited(attached.find_rank(rank)->pid)) {
      longest = std::max(longest.value_or(*time), *time);
    }
  }
  return fmt::format(
      "rank {} waits in collective {} of {} for rank {}; it began with the "
      "timeout of {}{}: breakpoints are set when it is over",
      one.inside.text(8), one.number, one.group, one.awaited.text(8),
      seconds(one.timeout),
      longest ? fmt::format(
                    ", {} are left",
                    seconds(std::max(one.timeout - *longest, milliseconds(0))))
              : "");
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
