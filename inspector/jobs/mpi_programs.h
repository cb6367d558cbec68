// The other members of an MPI job: programs that are no Python, and those that
// ranks have started by MPI_Comm_spawn.
#pragma once

#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"

namespace hangdbg {

// Of Open MPI, MPICH and those that are made of them: by its file's name.
bool is_mpi_library(std::string_view path);

// All below that process that have a library of MPI, by number; without those
// in D state, which may block their reader. Errors: System, TimedOut.
Result<std::vector<int>> mpi_programs_below(int launcher, Deadline deadline);

}  // namespace hangdbg
