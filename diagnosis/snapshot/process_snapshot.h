// ProcessSnapshot: one process as rules see it: its threads, each with its
// Python stack and its state in the kernel, from a few samples. The rest
// (descriptors, C functions, values) is read when a rule needs it.
//
// What rules read of it is virtual: a test makes one up
// (tests/unit/support/made_up.h).
//
// No code runs in the process. A running thread is stopped for some tens of
// microseconds, as by `hangdbg dump`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "diagnosis/snapshot/cause.h"
#include "diagnosis/snapshot/system_snapshot.h"
#include "inspector/cpython/async/asyncio_tasks.h"
#include "inspector/cpython/code/loop_conditions.h"
#include "inspector/cpython/locks/python_locks.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/gil.h"
#include "inspector/cpython/runtime/python_process.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "inspector/jobs/torch/process_groups.h"
#include "inspector/snapshot/merged_stack.h"
#include "inspector/snapshot/process_dump.h"
#include "tracee/proc/open_files.h"
#include "tracee/proc/proc_status.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/wait_sample.h"

namespace hangdbg {

struct ThreadSnapshot {
  ThreadId id;
  std::string name;  // "MainThread"; "" if it has none
  std::optional<PythonThread> python;
  PythonStack stack;
  WaitSample wait;  // in the last sample
  // Of a thread that has entered another interpreter: its state and frames in
  // the one that it came from. Those frames are the outermost of `stack`, too.
  std::optional<PythonThread> entered_from;
  std::vector<PythonFrame> frames_before;
  // Of a thread that has run while it was sampled, or was to run and had no
  // CPU: what it waited for has come.
  std::size_t looks = 1;
  bool ran = false;
  std::set<std::string> places;  // its innermost frames, "train.py:12"
  double cpu_percent = 0;

  const std::vector<PythonFrame>& frames() const { return stack.frames; }
  bool sleeps_in(std::string_view call) const {
    return wait.state != 'R' && wait.syscall == call;
  }
  // In a futex(2) with a timeout.
  bool has_timeout() const;
  // In a call with a time limit: futex(2) or a wait for descriptors.
  bool has_time_limit() const;
  // The innermost frame of that function in a file that ends so; null if there
  // is none among the `depth` innermost.
  const PythonFrame* find(std::string_view function,
                          std::string_view file,
                          std::size_t depth = 1000) const;
  // The innermost frame outside of the standard library and installed packages;
  // null if there is none.
  const PythonFrame* own_frame() const;
  std::string who() const;    // "MainThread", "thread 12 "worker""
  std::string place() const;  // "lock.py:42 in wait, from train.py:7 in main"
};

class ProcessSnapshot {
 public:
  // Whether memory is read: a reader blocks with a process that waits in the
  // kernel and holds the lock on its memory.
  enum class Memory { Read, Left };
  // Errors: NoSuchProcess, NotPermitted. A process without Python has only its
  // threads.
  static Result<std::unique_ptr<ProcessSnapshot>> open(int pid,
                                                       SystemSnapshot& system,
                                                       Memory memory);
  virtual ~ProcessSnapshot();

  const int pid;
  SystemSnapshot& system;
  const bool memory_left;
  ProcStatus status;
  std::vector<std::string> command_line;
  std::vector<ThreadSnapshot> threads;  // main first, then by number
  std::optional<GilState> gil;
  // Why its Python is not read, or only in part; "" if it is. If nothing is
  // read, no thread has a stack, and none may be reported as well.
  std::string unread;
  // Of a known version: its locks, values and bytecode can be read, too.
  bool is_python() const { return process_ && !process_->python.unknown; }
  const PythonProcess& process() const { return *process_; }
  std::string title() const;  // "process 79655 (python train.py)"
  // A signal handler may end a thread's wait. Signals other than Ctrl-C and
  // those of crashes count.
  bool handles_signals() const { return !handled_signals().empty(); }
  std::vector<int> handled_signals() const;

  // It has run in a wait without a timeout: the wait ended, and it waits again.
  bool makes_progress(const ThreadSnapshot& thread) const;
  // For a thread in a futex(2) with a timeout: seconds until it expires.
  std::optional<double> wakes_in_s(const ThreadSnapshot& thread) const;

  const ThreadSnapshot* thread(int tid) const;
  const ThreadSnapshot* by_ident(std::uint64_t ident) const;
  // Those that run Python, without the agent's.
  std::vector<const ThreadSnapshot*> python_threads() const;
  // A thread other than `but` that computes: it may end the wait when it is
  // done. Null if there is none.
  const ThreadSnapshot* other_running_thread(
      const ThreadSnapshot* but = nullptr) const;

  // ---- values of Python, by an expression as of `hangdbg peek`
  const ObjectReader& objects() const { return *objects_; }
  virtual std::optional<Address> object(const PythonFrame& frame,
                                        std::string_view expression) const;
  virtual std::optional<std::string> text(const PythonFrame& frame,
                                          std::string_view expression) const;
  virtual std::optional<std::int64_t> number(const PythonFrame& frame,
                                             std::string_view expression) const;
  // The numbers that are there now: of expression(0), expression(1) ... up to
  // the first that is none.
  virtual std::vector<std::int64_t> numbers_now(
      const PythonFrame& frame,
      const std::function<std::string(int)>& expression,
      int most) const;
  // As repr() would print it, safe to print; "?" if it cannot be read.
  virtual std::string shown(const PythonFrame& frame,
                            std::string_view expression) const;

  // The loops around the frame's current call; none if its bytecode cannot be
  // read.
  virtual std::optional<FrameLoops> loops(const PythonFrame& frame) const;

  // Of asyncio; none if it is not imported.
  virtual AsyncioTasks asyncio_tasks() const;

  // ---- read once more: what a thread does now (process_now.cpp)
  virtual std::optional<WaitSample> wait_now(int tid) const;
  virtual std::optional<ProcStatus> status_now(int tid) const;
  virtual std::optional<SchedStats> runs_now(int tid) const;
  virtual std::optional<GilState> gil_now() const;
  // `samples` stacks of it, `apart` from each other, without those that could
  // not be read as a whole.
  virtual std::vector<PythonStack> watch_stack(
      const ThreadSnapshot& thread,
      int samples,
      Deadline::Clock::duration apart) const;
  // The variables of a frame, by name, as short text.
  virtual std::map<std::string, std::string> locals_now(
      const PythonFrame& frame) const;

  // ---- what the kernel knows
  // A variable of its environment.
  virtual std::optional<std::string> variable(std::string_view name) const;
  virtual std::optional<OpenFile> file(int fd) const;
  virtual std::vector<OpenFile> open_files() const;
  // Results of held_by() (awaited_python_lock.h), by thread: each waiter for a
  // lock looks for its holder.
  mutable std::map<int, std::vector<HeldPythonLock>> held_locks;
  // All frames of threads whose `stack` has only the innermost ones, as far as
  // all_frames_of() has read them.
  mutable std::map<int, PythonStack> whole_stacks;
  // The same as its frames(), and those further out.
  const std::vector<PythonFrame>& all_frames_of(
      const ThreadSnapshot& thread) const;
  const MemoryReader& memory() const { return *memory_; }
  // The same memory as the parent's: it was forked, without an exec since.
  virtual bool forked_from(int parent) const;
  // With all modules. None: they cannot be read.
  virtual const PythonProcess* whole() const;
  // Of torch.distributed; none if they cannot be read.
  virtual const ProcessGroups& process_groups() const;
  // The C functions that a thread's innermost Python function has called, the
  // innermost first, with their modules:
  // "gomp_team_start (libgomp.so.1)". Empty if they cannot be told.
  virtual std::vector<std::string> native(const ThreadSnapshot& thread) const;
  // The same, with their return addresses.
  virtual std::vector<StackEntry> native_calls(
      const ThreadSnapshot& thread) const;

 protected:
  ProcessSnapshot(int pid, SystemSnapshot& system, Memory memory);

  std::unique_ptr<MemoryReader> memory_;  // reads nothing where it is left
  std::optional<PythonProcess> process_;
  std::optional<ObjectReader> objects_;

 private:
  void look();
  void look_again();
  void read_python();
  void name_threads_of_unknown();

  mutable std::optional<Result<PythonProcess>> whole_;
  mutable std::optional<ProcessGroups> groups_;
};

}  // namespace hangdbg
