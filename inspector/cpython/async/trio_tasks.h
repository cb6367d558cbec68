// The unfinished Trio tasks, and which waits for which, read out of process:
// those of the run that a thread is in, without Trio's own.
#pragma once

#include <vector>

#include "inspector/cpython/async/asyncio_tasks.h"

namespace hangdbg {

struct TrioTasks {
  std::vector<AsyncioTask> tasks;  // by name
  Address main;                    // one of these, if it is not done
};

// `run`: the frame of trio._core._run.run. Errors: Unreadable.
Result<TrioTasks> read_trio_tasks(const ObjectReader& objects,
                                  PythonStackReader& stacks,
                                  const PythonFrame& run);

}  // namespace hangdbg
