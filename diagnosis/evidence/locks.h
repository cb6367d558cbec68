// The locks of a process that can be seen: those that a thread waits for, and
// those that one has; who waits for whom in a circle: the facts behind
// `hangdbg locks`. No code runs in the process, and nothing is stopped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "diagnosis/evidence/awaited_lock.h"

namespace hangdbg {

struct LockWaiter {
  ThreadId id;
  std::string who;
  std::string state;
  std::string place;
  std::optional<double> waiting_s;
};

struct KnownLock {
  SeenLock lock;
  std::vector<LockWaiter> waiters;
};

// Each waits for the lock that the next one has; the last for the first's.
struct DeadlockCycle {
  struct WaitEdge {
    ThreadId id;
    std::string who;
    std::string waits_for;  // "the Lock `a`, held by thread 12 "worker""
  };
  std::vector<WaitEdge> links;
};

struct SeenLocks {
  int pid = 0;
  std::string title;
  std::string python;            // "" of one that is none
  std::vector<KnownLock> locks;  // those that somebody waits for first
  std::vector<DeadlockCycle> circles;
  std::vector<std::string> skipped;
};

// Errors: NoSuchProcess, NotPermitted.
Result<SeenLocks> see_locks(int pid, Deadline deadline);

}  // namespace hangdbg
