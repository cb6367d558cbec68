// Who waits for whom in a circle, over all locks and processes.
#pragma once

#include <vector>

#include "diagnosis/evidence/locks.h"
#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

// Those that a thread of that process is in, each once.
std::vector<DeadlockCycle> deadlock_cycles(const ProcessSnapshot& of,
                                           const LockReader& locks);

}  // namespace hangdbg
