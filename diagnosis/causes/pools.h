// The processes that work for a pool (multiprocessing.Pool,
// concurrent.futures), as who waits for a result of theirs sees them.
#pragma once

#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

struct PoolWorkers {
  std::vector<ThreadId> busy;  // with a task, or kept from getting one
  std::size_t idle = 0;
};

// `function` and `file`: the loop in which a worker takes its tasks. Of the
// process's children, and of those that a fork server has made for it.
PoolWorkers pool_workers(const ProcessSnapshot& of,
                         std::string_view function,
                         std::string_view file);

// It has not run since it was looked at, so that nothing has come for it.
bool still_waits(const ThreadSnapshot& thread);
// It has, as far as that can be told now.
bool has_gone_on(const ThreadSnapshot& thread);

}  // namespace hangdbg
