// HoldTimer: how long threads of the ranks that a prompt is attached to may
// stand. Their agents are told what Standstill says, also while nothing is
// typed.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "server/rank_breakpoints/raised_timeouts.h"
#include "server/rank_breakpoints/standstill.h"

namespace hangdbg {

class AttachedRanks;
struct AttachedRank;

class HoldTimer {
 public:
  HoldTimer(AttachedRanks& ranks, RaisedTimeouts raised);

  // A rank in which threads may come to stand from now on. Errors: those of a
  // call.
  Status watch(AttachedRank& rank);
  // One that is no longer attached.
  void forget(int pid) { standstill_.forget(pid); }

  // To be called again and again.
  void look();

  // When those that stand go on by themselves; nothing: none stands.
  std::optional<Deadline> end() const { return standstill_.end(); }

 private:
  void keep_time();
  void ask_how_far();
  bool watch_fixed_timeouts();
  void tell(const std::vector<Standstill::Limit>& limits);
  Status tell(AttachedRank& rank, std::chrono::milliseconds left);

  AttachedRanks& ranks_;
  RaisedTimeouts raised_;
  Standstill standstill_;
  Deadline next_watch_ = Deadline::in({});
};

}  // namespace hangdbg
