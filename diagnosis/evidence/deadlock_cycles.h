// Deadlock cycles, over all locks and processes.
#pragma once

#include <vector>

#include "diagnosis/evidence/locks.h"
#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

// The cycles with a thread of that process, each once.
std::vector<DeadlockCycle> deadlock_cycles(const ProcessSnapshot& of,
                                           const LockReader& locks);

}  // namespace hangdbg
