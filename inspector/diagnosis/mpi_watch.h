// Whether ranks that wait in MPI go on. They run all the while, so that their
// sleep tells no time: it is counted how often each comes back from the call
// that it is in, and what moves on their connections meanwhile.
#pragma once

#include <chrono>
#include <optional>
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

// So long none of them has come back, and nothing has moved. None: one has, or
// something did, and then this returns at once. Errors: those of
// ExecutionCounter, TimedOut.
Result<std::optional<std::chrono::milliseconds>> watch_mpi(
    const std::vector<MpiWait>& waits,
    std::chrono::milliseconds time,
    Deadline deadline);

}  // namespace hangdbg
