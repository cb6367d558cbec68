// An event loop of asyncio that sleeps although its tasks are not done: nothing
// has woken it, or a thread or process makes what it waits for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"
#include "inspector/cpython/async/asyncio_tasks.h"

namespace hangdbg {

// "task Task-1 in queues.py:231 in join, called at main.py:8 in work": what the
// program awaits, of all that the library then awaits in it.
std::string task_text(const AsyncioTask& task);

// Callbacks are ready, or stop() was called, and the loop sleeps all the same:
// another thread did that without call_soon_threadsafe(), which wakes it.
std::optional<Cause> loop_not_woken(const ProcessSnapshot& of,
                                    const ThreadSnapshot& thread,
                                    const AsyncioTasks& all);

// A task waits for the end of a child, or for what a thread of a pool computes,
// and the loop has nothing else to do.
std::optional<Cause> loop_behind_other(const ProcessSnapshot& of,
                                       const ThreadSnapshot& thread,
                                       const AsyncioTasks& all);

// The steps of that.
std::optional<Cause> loop_behind_child(const ProcessSnapshot& of,
                                       const std::vector<AsyncioTask>& all);
std::optional<Cause> loop_behind_pool(const ProcessSnapshot& of,
                                      const std::vector<AsyncioTask>& all);

// For a loop that more than that may wake: the progress of the tasks that
// `main` waits for. None for a server, and for a loop whose one connection
// tells more. `main` is null where the loop runs for ever.
std::optional<Cause> loop_of_tasks(const ProcessSnapshot& of,
                                   const ThreadSnapshot& thread,
                                   const std::vector<AsyncioTask>& all,
                                   const AsyncioTask* main);

// The child of which a task reads the output, and which has ended.
std::optional<int> ended_child_of_loop(const ProcessSnapshot& of,
                                       const std::vector<AsyncioTask>& all);

}  // namespace hangdbg
