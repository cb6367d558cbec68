// Who waits for whom in a circle, over all locks and processes.
#pragma once

#include <vector>

#include "diagnosis/evidence/locks.h"
#include "diagnosis/snapshot/case.h"

namespace hangdbg {

// Those that a thread of that process is in, each once.
std::vector<LockCircle> lock_circles(const Case& of, const LockReader& locks);

}  // namespace hangdbg
