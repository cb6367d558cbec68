// The logical stacks of asyncio's tasks: coroutines that wait for each other,
// as one stack across tasks.
//
// Tasks take too long to be read in a stop. So they are read before it, with
// notes of what was read; the stop proves that the few that matter are still
// the same. Where it does not, a thread's stack is shown as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/deadline.h"
#include "inspector/cpython/async/noted_tasks.h"
#include "inspector/cpython/async/running_loop.h"
#include "inspector/cpython/runtime/python_process.h"
#include "inspector/cpython/stacks/python_stack.h"

namespace hangdbg {

// The innermost frames of a thread that are a task's, and which one it is.
struct TaskPart {
  Address root;              // the last of them; 0: of no task that is known
  std::uint64_t number = 0;  // of what is known of the task, as it was read

  bool operator==(const TaskPart&) const = default;
};

// A task, and the coroutines outside of it that wait for it.
struct LogicalStack {
  Address task;
  std::string name;
  std::vector<PythonFrame> frames;  // innermost first
};

class TaskStacks {
 public:
  // Both must outlive this.
  TaskStacks(const PythonProcess& process, PythonStackReader& stacks)
      : process_(process),
        stacks_(stacks),
        running_loops_(process.python,
                       process.modules,
                       TargetFiles(process.pid)) {}

  // Which task a thread runs. True of the moment at which `chain` was read, if
  // the thread does not run meanwhile.
  TaskPart find(const FrameChain& chain) const;
  // What waits for it: its own frames are the thread's.
  const LogicalStack& above(const TaskPart& part) const {
    return above_[part.number - first_];
  }
  // Reads the tasks anew where this thread seems to run one that is not known,
  // for at most a tenth of the time.
  bool learn(const FrameChain& chain,
             const PythonThread& thread,
             const std::vector<PythonThread>& threads);

  // All that wait, of the loop in which a thread sleeps; empty, if it sleeps in
  // none. True if it has not run meanwhile. None: not now.
  std::optional<std::vector<LogicalStack>> waiting(
      const FrameChain& chain,
      const PythonThread& thread,
      const std::vector<PythonThread>& threads);

 private:
  bool read(const std::vector<PythonThread>& threads);
  std::vector<const AsyncioTask*> awaiters(const AsyncioTask& task) const;
  bool may_run_task(const PythonStack& stack, const PythonThread& thread);
  std::optional<Address> sleeping_loop(const PythonStack& stack,
                                       const PythonThread& thread);
  std::optional<Address> running_loop(const PythonThread& thread);

  const PythonProcess& process_;
  PythonStackReader& stacks_;
  RunningLoops running_loops_;
  Deadline next_ = Deadline::in({});
  AsyncioTasks tasks_;
  std::map<Address, TaskNotes> notes_;                          // by task
  std::map<Address, std::vector<const AsyncioTask*>> waiters_;  // by task
  // Of each task: which of tasks_ wait for it, nearest first; and their frames.
  std::vector<std::vector<Address>> chains_;
  std::vector<LogicalStack> above_;
  // The number of the first of them: none ever means two.
  std::uint64_t first_ = 0;
  std::unordered_map<Address, std::uint64_t> roots_;  // by frame
};

}  // namespace hangdbg
