// The asking side of `break --via`. In phases, each of which all nodes have
// ended before the next begins: raise the timeouts of all ranks; wait until no
// collective is left that began before; set the breakpoint; stops; the end. As
// soon as one node is lost, all end: its timeouts are no longer raised.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/options/options.h"
#include "client/options/via_option.h"
#include "client/prompt/break_events.h"
#include "inspector/jobs/choice.h"

namespace hangdbg {

struct BreakOnNodes {
  const ViaOption& via;
  const CommonOptions& common;
  JobOptions job;
  std::vector<std::string> commands;
  bool prompts = false;    // neither commands nor a log
  std::string hold_until;  // as in --hold-until, or ""
  std::chrono::milliseconds hold_for;
  Deadline deadline;  // for a rank to come
};

// Errors: Usage, NoSuchRank, Interrupted, TimedOut; a node's.
Result<int> break_on_nodes(const BreakOnNodes& options,
                           std::optional<BreakEvents>& events);

}  // namespace hangdbg
