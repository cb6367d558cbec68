// Finds out why threads that are recorded do not run, as `threads` shows it.
#pragma once

#include <atomic>

#include "profiler/sampling/wait_reasons.h"

namespace hangdbg {

// Until `enough`. A look at a process takes some milliseconds, and all of them
// a twentieth of the time: of a sleep that is over by then, the reason is what
// the sample itself could tell. One that lasts is looked at each second: the
// owner of its lock may change.
void find_reasons(WaitReasons& reasons, const std::atomic<bool>& enough);

}  // namespace hangdbg
