// Whether ranks that wait in MPI make progress. They run all the time, so that
// their sleep tells no time: the watch counts how often each returns from its
// call, and what data moves on the connections between them meanwhile.
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
  std::shared_ptr<SystemSnapshot> system;  // to sample it again
  ThreadId thread;
  MpiCall call;
};

struct MpiWatch {
  std::chrono::milliseconds time;
  // One returned, which ended the watch, or was not found in its call again, or
  // data moved.
  bool went_on = false;
};

// Errors: those of ExecutionCounter and read_connections, TimedOut.
Result<MpiWatch> watch_mpi(const std::vector<MpiWait>& waits,
                           std::chrono::milliseconds time,
                           Deadline deadline);

}  // namespace hangdbg
