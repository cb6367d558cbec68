// The processes and threads that work for a pool (multiprocessing.Pool,
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

// A thread of a ThreadPoolExecutor that has a task.
bool runs_task(const ThreadSnapshot& thread);
std::vector<ThreadId> threads_at_work(const ProcessSnapshot& of);
// The one whose task the Future is of; null if no thread has begun it.
const ThreadSnapshot* thread_of_future(const ProcessSnapshot& of,
                                       Address future);

// It has not run since it was sampled: nothing has arrived for it.
bool still_waits(const ThreadSnapshot& thread);
// It has run since then, as far as known.
bool has_gone_on(const ThreadSnapshot& thread);

}  // namespace hangdbg
