// The locks of a process that can be seen: those that threads wait for, those
// that they hold, and deadlock cycles: the facts behind `hangdbg locks`. No
// code runs in the process, and nothing is stopped.
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

// Each waits for the lock that the next one holds; the last for the first's.
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
  std::string python;            // "" if it is no Python
  std::vector<KnownLock> locks;  // those with waiters first
  std::vector<DeadlockCycle> circles;
  std::vector<std::string> skipped;
};

// Errors: NoSuchProcess, NotPermitted.
Result<SeenLocks> see_locks(int pid, Deadline deadline);

}  // namespace hangdbg
