// HoldTimer: how long threads of the ranks that a prompt is attached to may be
// suspended. Their agents are told what StopBudget says, also while nothing is
// typed.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "server/rank_breakpoints/stop_budget.h"
#include "server/rank_breakpoints/timeout_override.h"

namespace hangdbg {

class AttachedRanks;
struct AttachedRank;

class HoldTimer {
 public:
  HoldTimer(AttachedRanks& ranks, TimeoutOverride raised);

  // A rank in which threads may be suspended from now on. Errors: those of a
  // call.
  Status watch(AttachedRank& rank);
  // One that is no longer attached.
  void forget(int pid) { stop_budget_.forget(pid); }

  // To be called again and again.
  void look();

  // Suspended ones resume after that at the latest: a rank of another machine
  // may not wait for longer.
  void shorten(std::chrono::milliseconds left);

  // When suspended ones resume by themselves; nothing: none is suspended.
  std::optional<Deadline> end() const { return stop_budget_.end(); }

 private:
  void keep_time();
  void ask_how_far();
  bool watch_fixed_timeouts();
  void tell(const std::vector<StopBudget::Limit>& limits);
  Status tell(AttachedRank& rank, std::chrono::milliseconds left);

  AttachedRanks& ranks_;
  TimeoutOverride raised_;
  StopBudget stop_budget_;
  Deadline next_watch_ = Deadline::in({});
};

}  // namespace hangdbg
