// The phases of `break --via`, which all nodes go through together: timeouts
// are raised, collectives that began before are awaited, the breakpoint is set,
// ranks stop.
#pragma once

#include "base/result.h"
#include "client/breaks/on_nodes.h"
#include "client/breaks/ranks_on_nodes.h"
#include "client/prompt/break_events.h"

namespace hangdbg {

// The exit code. `events`: with --json; else null. Errors: what ends all
// nodes.
Result<int> break_in_phases(const BreakOnNodes& options,
                            RanksOnNodes& ranks,
                            BreakEvents* events);

}  // namespace hangdbg
