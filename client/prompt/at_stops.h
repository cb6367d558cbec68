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
  // Before the commands are run: ranks of other machines may still be awaited.
  std::function<Status()> all_here = {};
};

// Those in which a thread has stopped: one of them, or all of `together`.
// Errors: TimedOut, TargetDied, Interrupted.
Result<std::vector<AttachedRank*>> await_ranks(const BreakAtStops& at);

// Once in each rank. The exit code: of the last command that failed.
Result<int> run_at_stops(const BreakAtStops& at,
                         const std::vector<std::string>& commands);

// Where these have stopped; `with_text`: also as a person reads it, where it is
// told as events. What else is to be known of any.
void tell_stops(AttachedRanks& attached,
                const std::vector<AttachedRank*>& came,
                bool with_text);
void tell_notes(AttachedRanks& attached);
// TimedOut, if a rank has resumed by itself.
Status check_times(AttachedRanks& attached);

// The agents speak as their threads come by.
Result<int> show_log(const BreakAtStops& at);

}  // namespace hangdbg
