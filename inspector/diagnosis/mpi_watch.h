// Whether ranks that wait in MPI go on. They run all the while, so that their
// sleep tells no time: it is counted how often each comes back from the call
// that it is in, and what moves on their connections meanwhile.
#pragma once

#include <chrono>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "tracee/address.h"

namespace hangdbg {

struct MpiWait {
  int pid = 0;
  int tid = 0;
  Address returns_to;
};

struct MpiWatch {
  std::chrono::milliseconds time;
  bool went_on = false;  // one came back, and the watch ended, or data moved
};

// Errors: those of ExecutionCounter, TimedOut.
Result<MpiWatch> watch_mpi(const std::vector<MpiWait>& waits,
                           std::chrono::milliseconds time,
                           Deadline deadline);

}  // namespace hangdbg
