#include "client/prompt/hold_timer.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "base/text.h"
#include "client/prompt/attached_ranks.h"
#include "protocol/requests/limit.h"

namespace hangdbg {
namespace {

constexpr auto kWatch = std::chrono::seconds(1);

}  // namespace

HoldTimer::HoldTimer(AttachedRanks& ranks, TimeoutOverride raised)
    : ranks_(ranks),
      raised_(std::move(raised)),
      stop_budget_(raised_.longest()) {}

Status HoldTimer::watch(AttachedRank& rank) {
  const auto limit = stop_budget_.watch(rank.pid);
  Status told = limit ? tell(rank, limit->left) : Status();
  if (!told) {
    stop_budget_.forget(rank.pid);
  }
  return told;
}

void HoldTimer::look() {
  keep_time();
  if (watch_fixed_timeouts()) {
    keep_time();
  }
}

void HoldTimer::shorten(std::chrono::milliseconds left) {
  if (stop_budget_.shorten(left)) {
    keep_time();
  }
}

void HoldTimer::keep_time() {
  std::set<int> standing;
  for (const AttachedRank* const one : ranks_.all()) {
    if (one->state && !one->session->over() &&
        (!one->state->held.empty() || one->state->awaited)) {
      standing.insert(one->pid);
    }
  }
  tell(stop_budget_.follow(standing));
  if (stop_budget_.wants() != StopBudget::Ask::Nothing) {
    ask_how_far();
    tell(stop_budget_.asked());
  }
}

void HoldTimer::ask_how_far() {
  const StopBudget::Ask what = stop_budget_.wants();
  for (AttachedRank* const one : ranks_.all()) {
    if (!one->rank) {
      continue;
    }
    // One that has ended is in no collective.
    const auto groups =
        one->session->over()
            ? dap::ProcessGroups::Body()
            : ranks_.process_groups(*one, std::nullopt, Deadline::in(kWatch));
    if (groups && what == StopBudget::Ask::Begin) {
      stop_budget_.left().begin(*one->rank, *groups);
    } else if (groups) {
      stop_budget_.left().look(*one->rank, *groups);
    }
  }
}

// Whether it ends sooner now.
bool HoldTimer::watch_fixed_timeouts() {
  if (!stop_budget_.end() || !next_watch_.expired()) {
    return false;
  }
  bool shortened = false;
  next_watch_ = Deadline::in(kWatch);
  for (AttachedRank* const one : ranks_.all()) {
    if (one->session->over() || !one->rank ||
        (one->state && !one->state->held.empty())) {
      continue;
    }
    const auto groups =
        ranks_.process_groups(*one, std::nullopt, Deadline::in(kWatch));
    for (const auto& [time, why] :
         groups ? raised_.shorter(*one->rank, *groups)
                : std::vector<TimeoutOverride::Shorter>()) {
      if (stop_budget_.shorten(time)) {
        shortened = true;
        say(stderr, "{}\n",
            ranks_.err().dim(fmt::format("{}: all resume in {}", printable(why),
                                         timeout_text(time))));
        if (BreakEvents* const events = ranks_.events()) {
          events->shortened(why, time);
        }
      }
    }
  }
  return shortened;
}

void HoldTimer::tell(const std::vector<StopBudget::Limit>& limits) {
  for (const auto& [pid, left] : limits) {
    for (AttachedRank* const one : ranks_.all()) {
      const Status told = one->pid == pid ? tell(*one, left) : Status();
      if (!told) {
        stop_budget_.missed(pid);
        log::warn(log::Area::Client, "cannot change the time limit of {}: {}",
                  pid, told.error().text());
      }
    }
  }
}

Status HoldTimer::tell(AttachedRank& rank, std::chrono::milliseconds left) {
  const Deadline deadline = ranks_.options().deadline();
  TRY(rank.session->need("engine", deadline));
  TRY(rank.session->need("coordination", deadline));
  const auto told = rank.session->call<dap::Limit>(
      {.milliseconds = std::max<std::int64_t>(left.count(), 1)}, deadline);
  return told ? Status() : std::unexpected(told.error());
}

}  // namespace hangdbg
