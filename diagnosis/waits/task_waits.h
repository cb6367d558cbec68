// What each task of an event loop waits for, as far as its frames say: a time,
// between rounds of a loop or once, other tasks, or something else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/waits/sleep_loop.h"
#include "inspector/cpython/async/asyncio_tasks.h"

namespace hangdbg {

struct TaskWait {
  const AsyncioTask* task = nullptr;
  bool sleeps = false;            // for a time
  bool for_ever = false;          // or until it is cancelled
  std::optional<SleepLoop> loop;  // in which it sleeps
  // What its own function awaits: "queue.get()"; "" if unknown.
  std::string awaits;

  bool polls() const { return loop && loop->polls; }
};

TaskWait wait_of(const ProcessSnapshot& of, const AsyncioTask& task);

// The ends of that task's chain, itself if it waits for no other task. Null: of
// all that wait.
std::vector<TaskWait> task_waits(const ProcessSnapshot& of,
                                 const std::vector<AsyncioTask>& all,
                                 const AsyncioTask* from);

// A thread that would sleep where the task does, for rules about threads that
// poll for locks.
ThreadSnapshot as_thread(const ThreadSnapshot& loop, const TaskWait& wait);

// The innermost frame that is not a library's; null if there is none.
const PythonFrame* own_frame(const AsyncioTask& task);

}  // namespace hangdbg
