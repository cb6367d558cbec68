#include "client/prompt/breaks.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/text.h"
#include "client/terminal/interrupt.h"
#include "server/rank_breakpoints/rendezvous_point.h"
#include "server/rank_breakpoints/timeout_override.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

constexpr auto kLookAgain = milliseconds(50);
// What is over so soon needs no word.
constexpr auto kBreakPatience = milliseconds(500);

Status raise_and_wait(AttachedRanks& attached,
                      const Job& job,
                      const std::map<int, Error>& failed,
                      milliseconds hold_for,
                      Deadline deadline);
void put_back(AttachedRanks& attached);
Status raise_all(AttachedRanks& attached, TimeoutOverride& raised);
Status await_old(AttachedRanks& attached,
                 CollectivesWithOriginalTimeout& old,
                 Deadline deadline);
CommonGroups how_far(AttachedRanks& attached,
                     const std::vector<JobRank>& ranks);
Status agree_where_to_meet(AttachedRanks& attached,
                           const std::vector<JobRank>& ranks,
                           CommonGroups before);

}  // namespace

Status make_safe_to_hold(AttachedRanks& attached,
                         const Job& job,
                         milliseconds hold_for,
                         Deadline deadline) {
  const auto failed = attached.attach_all(job.ranks);
  if (attached.all().empty()) {
    return std::unexpected(failed.begin()->second);
  }
  // A rank may stop while another is stopped already.
  const Interruptible interruptible(*attached.all().front()->session);
  const Status safe = raise_and_wait(attached, job, failed, hold_for, deadline);
  if (!safe) {
    put_back(attached);
  }
  return safe;
}

Status set_on_ranks(AttachedRanks& attached,
                    const std::vector<JobRank>& ranks,
                    PromptBreakpoint wanted,
                    bool together) {
  const auto before = together ? how_far(attached, ranks) : CommonGroups();
  if (!before.empty()) {
    wanted.after = never(before);
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
  if (!before.empty()) {
    TRY(agree_where_to_meet(attached, ranks, before));
  }
  say(stderr, "{}\n",
      attached.err().dim(
          printable(fmt::format("breakpoint at {} on rank {}{}", wanted.place(),
                                set.text(8), message ? ": " + *message : ""))));
  if (BreakEvents* const events = attached.events()) {
    events->breakpoint(wanted.place(), set, message);
  }
  return {};
}

namespace {

Status raise_and_wait(AttachedRanks& attached,
                      const Job& job,
                      const std::map<int, Error>& failed,
                      milliseconds hold_for,
                      Deadline deadline) {
  TimeoutOverride raised(hold_for);
  raised.leave_out(job);
  for (const auto& [pid, error] : failed) {
    raised.leave_out(job.find(pid)->rank, error.message);
  }
  TRY(raise_all(attached, raised));
  for (const std::string& line : raised.text()) {
    say(stderr, "{}\n", attached.err().dim(printable(line)));
  }
  if (BreakEvents* const events = attached.events()) {
    events->raised(raised);
  }
  TRY(await_old(attached, raised.old(), deadline));
  return attached.limit(std::move(raised));
}

// The sessions may continue: at a prompt.
void put_back(AttachedRanks& attached) {
  for (AttachedRank* const one : attached.all()) {
    if (const auto done = attached.process_groups(
            *one, milliseconds(0), attached.options().deadline());
        !done) {
      log::warn(log::Area::Client, "timeouts of {} stay raised: {}", one->pid,
                done.error().text());
    }
  }
}

Status raise_all(AttachedRanks& attached, TimeoutOverride& raised) {
  for (AttachedRank* const one : attached.all()) {
    const Interruptible interruptible(*one->session);
    const auto groups = attached.process_groups(*one, raised.by(),
                                                attached.options().deadline());
    if (!groups && groups.error().id == ErrorId::Interrupted) {
      return std::unexpected(groups.error());
    }
    raised.take(one->rank.value_or(0), groups);
  }
  for (AttachedRank* const one : attached.all()) {
    const Interruptible interruptible(*one->session);
    if (const auto groups =
            attached.process_groups(*one, {}, attached.options().deadline())) {
      raised.look_again(one->rank.value_or(0), *groups);
    }
  }
  return {};
}

// Each ends some time: when all have reached it, or by its timeout.
Status await_old(AttachedRanks& attached,
                 CollectivesWithOriginalTimeout& old,
                 Deadline deadline) {
  std::map<int, int> pids;
  for (const AttachedRank* const one : attached.all()) {
    pids[one->rank.value_or(0)] = one->pid;
  }
  const Deadline patience = deadline.capped(kBreakPatience);
  std::string said;
  for (;;) {
    const auto pending = old.pending();
    if (pending.empty()) {
      return {};
    }
    if (patience.expired()) {
      std::string now;
      for (const OldCollective& one : pending) {
        now += printable(describe(one, pids)) + "\n";
      }
      if (said != now.substr(0, now.find(';'))) {
        say(stderr, "{}", attached.err().dim(now));
        said = now.substr(0, now.find(';'));
        if (BreakEvents* const events = attached.events()) {
          events->pending(pending);
        }
      }
    }
    if (deadline.expired()) {
      return fail(ErrorId::TimedOut,
                  "no breakpoint set: a collective that started before has not "
                  "finished",
                  "hangdbg dump --merge");
    }
    attached.await(deadline.capped(kLookAgain));
    for (const AttachedRank* const one : attached.all()) {
      if (one->rank) {
        old.look(*one->rank, TRY(attached.process_groups(
                                 *attached.find_rank(*one->rank), {},
                                 attached.options().deadline())));
      }
    }
    if (Interruptible::take()) {
      return fail(ErrorId::Interrupted, "interrupted; no breakpoint set");
    }
  }
}

Status agree_where_to_meet(AttachedRanks& attached,
                           const std::vector<JobRank>& ranks,
                           CommonGroups before) {
  const Deadline deadline = attached.options().deadline();
  for (;;) {
    auto now = how_far(attached, ranks);
    const auto place = rendezvous_point(before, now);
    for (const JobRank& rank : ranks) {
      AttachedRank* const one = attached.find_rank(rank.rank);
      const Interruptible interruptible(*one->session);
      PromptBreakpoint& last = one->state->breakpoints.all().back();
      last.after = place;
      TRY(one->state->breakpoints.update(*one->session, last.number, deadline));
    }
    before = std::move(now);
    if (is_ahead(place, how_far(attached, ranks)) || deadline.expired()) {
      return {};
    }
  }
}

CommonGroups how_far(AttachedRanks& attached,
                     const std::vector<JobRank>& ranks) {
  std::vector<dap::ProcessGroups::Body> said;
  for (const JobRank& rank : ranks) {
    AttachedRank* const one = attached.find_rank(rank.rank);
    dap::ProcessGroups::Body groups;
    if (one != nullptr) {
      groups = attached.process_groups(*one, {}, attached.options().deadline())
                   .value_or(groups);
    }
    said.push_back(std::move(groups));
  }
  return common_groups(said);
}

}  // namespace
}  // namespace hangdbg
