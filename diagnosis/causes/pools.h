// The processes that work for a pool (multiprocessing.Pool,
// concurrent.futures), as the waiter for one of their results sees them.
#pragma once

#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

struct PoolWorkers {
  std::vector<ThreadId> busy;  // with a task, or blocked from getting one
  std::size_t idle = 0;
};

// `function` and `file`: the loop in which a worker takes its tasks. Of the
// process's children, and of those that a fork server has made for it.
PoolWorkers pool_workers(const ProcessSnapshot& of,
                         std::string_view function,
                         std::string_view file);

// It has not run since it was sampled: nothing has arrived for it.
bool still_waits(const ThreadSnapshot& thread);
// It has run since then, as far as known.
bool has_gone_on(const ThreadSnapshot& thread);

}  // namespace hangdbg
