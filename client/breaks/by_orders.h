// A node's side of `break --via`: holds its ranks, and does what it is ordered
// on standard input. When that ends, so does this, and what was raised is put
// back by the agents, as at the end of any session.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "client/options/options.h"
#include "client/prompt/break_events.h"
#include "client/prompt/breakpoints.h"
#include "inspector/jobs/choice.h"

namespace hangdbg {

struct BreakByOrders {
  const CommonOptions& common;
  JobOptions job;
  PromptBreakpoint wanted;
  std::vector<std::string> commands;  // none, and no log: they are ordered
  std::string hold_until;             // as in --hold-until, or ""
  Deadline deadline;                  // for a rank to come
};

// Errors: choose_ranks'.
Result<int> break_by_orders(const BreakByOrders& options,
                            std::optional<BreakEvents>& events);

}  // namespace hangdbg
