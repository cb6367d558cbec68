// Whether ranks that wait in MPI go on. They run all the while, so that their
// sleep tells no time: it is counted how often each comes back from the call
// that it is in, and what moves on the connections between them meanwhile.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "diagnosis/snapshot/system_snapshot.h"
#include "diagnosis/waits/awaited_call.h"

namespace hangdbg {

struct MpiWait {
  std::shared_ptr<SystemSnapshot> system;  // to look at it again
  ThreadId thread;
  MpiCall call;
};

struct MpiWatch {
  std::chrono::milliseconds time;
  // One came back, and the watch ended, or was not found in its call again, or
  // data moved.
  bool went_on = false;
};

// Errors: those of ExecutionCounter and read_connections, TimedOut.
Result<MpiWatch> watch_mpi(const std::vector<MpiWait>& waits,
                           std::chrono::milliseconds time,
                           Deadline deadline);

}  // namespace hangdbg
