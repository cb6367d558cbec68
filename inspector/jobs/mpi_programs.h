// Who else is in a job of MPI: programs that are no Python, and those that
// ranks have started by MPI_Comm_spawn.
#pragma once

#include <vector>

#include "base/deadline.h"
#include "base/result.h"

namespace hangdbg {

// All below that process that have a library of MPI, by number; without those
// in D state, which may hold up who reads what they have. Errors: System,
// TimedOut.
Result<std::vector<int>> mpi_programs_below(int launcher, Deadline deadline);

}  // namespace hangdbg
