// What `hangdbg break` does while ranks arrive at its breakpoint.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "client/prompt/attached_ranks.h"
#include "inspector/jobs/choice.h"

namespace hangdbg {

struct BreakAtStops {
  AttachedRanks& attached;
  const ChosenRanks& chosen;
  const RankSet& together;  // they stop until all of them have
  Deadline deadline;
  // Between two looks: the orders of another machine's hangdbg. Its error ends
  // the wait.
  std::function<Status()> meanwhile = {};
};

// Those in which a thread has stopped: one of them, or all of `together`.
// Errors: TimedOut, TargetDied, Interrupted.
Result<std::vector<AttachedRank*>> await_ranks(const BreakAtStops& at);

// Once in each rank. The exit code: of the last command that failed.
Result<int> run_at_stops(const BreakAtStops& at,
                         const std::vector<std::string>& commands);

// The agents speak as their threads come by.
Result<int> show_log(const BreakAtStops& at);

}  // namespace hangdbg
