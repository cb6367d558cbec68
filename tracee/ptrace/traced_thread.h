// TracedThread: one thread of a target under ptrace.
//
// PTRACE_SEIZE, never ATTACH (whose SIGSTOP races with the target's own) and
// never PTRACE_O_EXITKILL: if we die, the kernel detaches and the thread runs
// on. All calls on one TracedThread must come from the thread that made it: the
// kernel knows tracers as threads. See run_as_tracer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "tracee/arch/x86_64/registers_x86_64.h"
#include "tracee/ptrace/seccomp_filter.h"
#include "tracee/ptrace/wait_status.h"

namespace hangdbg {

class TracedThread {
 public:
  // Nothing is stopped by this. Errors: NotPermitted, TracedAlready,
  // NoSuchThread.
  static Result<TracedThread> seize(int tid);

  TracedThread(TracedThread&& other) noexcept;
  TracedThread& operator=(TracedThread&&) = delete;
  // Detaches if the thread is stopped. One that would not stop (D state) is
  // released when the tracer thread ends, which the kernel sees to.
  ~TracedThread();

  int tid() const { return tid_; }
  bool stopped() const { return stopped_; }

  // PTRACE_INTERRUPT, then waits for the stop; signals that arrive first are
  // passed on. If there is a `later`, those that a process has sent are put
  // there, and only SIGSTOP, the CPU's and the libc's own are passed on.
  // Errors: TimedOut (the stop may still come), TargetDied, Stopped (a group
  // stop: the thread is stopped and can be detached).
  Status interrupt(Deadline deadline, std::vector<int>* later = nullptr);

  // The two halves of it.
  Status ask_to_stop();
  Status await_stop(Deadline deadline, std::vector<int>* later = nullptr);

  // The last moment before the stop at which it was seen not to be stopped yet.
  Deadline::Clock::time_point ran_at() const { return ran_at_; }

  // The registers, extended state and signal mask of the stopped thread.
  Result<Registers> registers() const;
  Status set_registers(const Registers& registers);
  Result<ExtendedState> extended_state() const;
  Status set_extended_state(const ExtendedState& state);
  Result<std::uint64_t> signal_mask() const;  // bit N-1 is signal N
  Status set_signal_mask(std::uint64_t mask);

  // The stopped thread's filters. Only for CAP_SYS_ADMIN without a filter of
  // its own, and a kernel with CONFIG_CHECKPOINT_RESTORE.
  Result<std::vector<FilterProgram>> seccomp_filters() const;

  // Where the thread has its struct rseq (rseq(2)); 0: nowhere, or the kernel
  // does not say (before 5.13).
  Address restartable_sequences() const;

  // Whether the kernel gives the stopped thread's system calls to the program's
  // own handler (syscall user dispatch: prctl(2),
  // PR_SET_SYSCALL_USER_DISPATCH). Unknown before Linux 6.4: false.
  bool dispatches_calls() const;

  // Of the signal that it was about to get.
  Result<siginfo_t> signal_info() const;

  // Lets the stopped thread run, with a signal that it was about to get.
  Status resume(int signal = 0);

  // The same, up to where its next system call begins or the one that it is in
  // ends: it stops there (WaitStatus::at_call), unless another stop is first.
  Status resume_to_call();

  // The thread's next stop or end if there is one already; does not wait.
  Result<std::optional<WaitStatus>> poll();

  Status detach(int signal = 0);

 private:
  explicit TracedThread(int tid) : tid_(tid) {}

  Result<bool> may_wait(int signal) const;

  int tid_;
  bool stopped_ = false;
  bool attached_ = true;
  Deadline::Clock::time_point ran_at_ = Deadline::Clock::now();
};

// Runs `work` on a thread of its own and waits for its end. When that thread
// ends, the kernel detaches whatever it still traces: also a thread that could
// not be stopped. So an injection that went wrong is over when this returns.
template <class Work>
auto run_as_tracer(Work work) {
  std::optional<decltype(work())> result;
  std::thread([&] { result.emplace(work()); }).join();
  return *std::move(result);
}

}  // namespace hangdbg
