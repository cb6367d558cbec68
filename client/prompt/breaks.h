// Breakpoints on ranks that the job survives: the others wait for a rank that
// is held, and their collectives die of that when their timeout is over. So all
// timeouts are raised before, and put back when our sessions end.
#pragma once

#include <chrono>

#include "base/deadline.h"
#include "base/result.h"
#include "client/prompt/attached_ranks.h"
#include "client/prompt/breakpoints.h"
#include "inspector/jobs/choice.h"

namespace hangdbg {

// Attaches to all ranks of the job, raises the timeouts of their process
// groups, and waits until no collective is left that began before, saying what
// is done on stderr. From then on threads may be held for so long; for less, if
// there are ranks whose timeouts stay. Where it fails they are put back.
// Errors: System, where none could be attached; TimedOut; Interrupted.
Status make_safe_to_hold(AttachedRanks& attached,
                         const Job& job,
                         std::chrono::milliseconds hold_for,
                         Deadline deadline);

// Sets it on these, which are attached; `together`: so that all of them stop in
// the same round of a loop with collectives. Errors: Breakpoints::add's.
Status set_on_ranks(AttachedRanks& attached,
                    const std::vector<JobRank>& ranks,
                    PromptBreakpoint wanted,
                    bool together);

}  // namespace hangdbg
