#include "client/prompt/at_stops.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "client/prompt/break_events.h"
#include "client/prompt/stops.h"
#include "client/prompt/together.h"
#include "client/ranks/rank_prefix.h"
#include "client/terminal/interrupt.h"
#include "client/terminal/render.h"
#include "client/terminal/typed.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

constexpr auto kLookForStops = milliseconds(200);
// A rank that stops so soon needs no message.
constexpr auto kAtStopsPatience = milliseconds(500);

}  // namespace

Result<int> show_log(const BreakAtStops& at) {
  AttachedRanks& attached = at.attached;
  const auto lives = [](const AttachedRank* one) {
    return !one->session->over();
  };
  while (!at.deadline.expired() && std::ranges::any_of(attached.all(), lives)) {
    attached.await(at.deadline.capped(kLookForStops));
    attached.look();
    flush_output(stdout);
    TRY(at.meanwhile ? at.meanwhile() : Status());
    if (Interruptible::take()) {
      return exit_code(ErrorId::Interrupted);
    }
  }
  return 0;
}

Result<int> run_at_stops(const BreakAtStops& at,
                         const std::vector<std::string>& commands) {
  AttachedRanks& attached = at.attached;
  BreakEvents* const events = attached.events();
  int code = 0;
  std::set<int> done;
  while (done.size() < at.chosen.ranks.size()) {
    const auto came = TRY(await_ranks(at));
    TRY(at.all_here ? at.all_here() : Status());
    tell_stops(attached, came, /*with_text=*/at.meanwhile != nullptr);
    for (const std::string& command : commands) {
      const int last = run_together(
          came, command,
          events == nullptr ? ShowPrinted(show_printed)
                            : [&](const auto& rank, const auto& printed) {
                                events->output(rank, command, printed);
                              });
      code = last != 0 ? last : code;
    }
    for (AttachedRank* const one : came) {
      done.insert(*one->rank);
      for (const std::int64_t tid : std::set(one->state->held)) {
        one->state->held.erase(tid);
        forget_stop(*one->state, tid);
        one->session->forget_interrupt();
        [[maybe_unused]] const Status gone =
            release_thread(*one->session, tid, attached.options().deadline());
      }
    }
    tell_notes(attached);
  }
  return code;
}

Result<std::vector<AttachedRank*>> await_ranks(const BreakAtStops& at) {
  const auto& [attached, chosen, together, deadline, meanwhile, all_here] = at;
  Deadline patience = deadline.capped(kAtStopsPatience);
  for (RankSet said;;) {
    attached.look();
    std::vector<AttachedRank*> came;
    RankSet ranks;
    bool alive = false;
    for (const JobRank& rank : chosen.ranks) {
      AttachedRank* const one = attached.find_rank(rank.rank);
      alive |= !one->session->over();
      if (!one->state->unseen.empty()) {
        one->state->notes.erase(one->state->unseen.front().tid);
        came.push_back(one);
        ranks.add(rank.rank);
      }
    }
    const auto is_there = [&](int rank) { return ranks.contains(rank); };
    if (!came.empty() && std::ranges::all_of(together.numbers(), is_there)) {
      tell_notes(attached);
      return came;
    }
    if (came.empty()) {
      patience = deadline.capped(kAtStopsPatience);
    } else if (patience.expired() && ranks != said) {
      say(stderr, "{}\n",
          attached.err().dim(fmt::format(
              "rank {} has reached the breakpoint; waiting for all of {}",
              ranks.text(8), together.text(8))));
      if (BreakEvents* const events = attached.events()) {
        events->waits(ranks, together);
      }
      said = ranks;
    }
    tell_notes(attached);
    TRY(check_times(attached));
    if (!alive) {
      return fail(ErrorId::TargetDied, "all ranks have ended", "hangdbg ps");
    }
    if (deadline.expired()) {
      return fail(
          ErrorId::TimedOut,
          together.empty() || ranks.empty()
              ? "no rank has reached the breakpoint"
              : fmt::format(
                    "rank {} has reached the breakpoint, but not all of {}",
                    ranks.text(8), together.text(8)),
          "hangdbg dump --job " + shell_quote(chosen.job.id) + " --merge");
    }
    attached.await(deadline.capped(kLookForStops));
    TRY(meanwhile ? meanwhile() : Status());
    if (Interruptible::take()) {
      return fail(ErrorId::Interrupted, "interrupted");
    }
  }
}

void tell_stops(AttachedRanks& attached,
                const std::vector<AttachedRank*>& came,
                bool with_text) {
  BreakEvents* const events = attached.events();
  const ShowPrinted tell = [&](const auto& rank, const auto& printed) {
    events->stop(rank);
    if (with_text) {
      events->output(rank, "", printed);
    }
  };
  show_stops(came, events == nullptr ? show_printed : tell);
}

Status check_times(AttachedRanks& attached) {
  for (const AttachedRank* const one : attached.all()) {
    if (one->state && one->state->time_was_up) {
      return fail(
          ErrorId::TimedOut,
          fmt::format(
              "rank {} resumed before all ranks had reached the breakpoint",
              one->rank.value_or(0)),
          typed_with("--for", "600"));
    }
  }
  return {};
}

void tell_notes(AttachedRanks& attached) {
  for (AttachedRank* const one : attached.all()) {
    if (one->state) {
      for (const auto& [tid, note] : std::exchange(one->state->notes, {})) {
        say(stderr, "{} {}\n",
            rank_prefix(one->rank.value_or(0), attached.err()),
            attached.err().dim(note));
        if (BreakEvents* const events = attached.events()) {
          events->note(one->rank.value_or(0), note);
        }
      }
    }
  }
}

}  // namespace hangdbg
