// SyscallTracer: the system calls of a process, and of those that it starts, as
// they happen.
//
// Each thread is seized and goes from the entry of a call to its exit
// (PTRACE_SYSCALL, ptrace(2)). Signals, stops and interrupted calls reach the
// process as they would without hangdbg: see docs/decisions/0065.
//
// Two threads of ours: the tracer makes it, calls `attach` and `run`, and ends;
// with that the kernel releases everything that it traces, in whatever state
// that is, as it does when we are killed. Any other may call `stop` and `look`.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "tracee/arch/x86_64/registers_x86_64.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/ptrace/traced_call.h"
#include "tracee/ptrace/wait_status.h"

namespace hangdbg {

// Called on the tracer's thread, while that thread of the target is stopped.
class TraceObserver {
 public:
  virtual ~TraceObserver() = default;

  // Whether its exit is to be told too.
  virtual bool entered(const TraceThread& thread, const TracedCall& call) = 0;
  virtual void left(const TraceThread& thread, const TracedResult& result) = 0;
  // It was in that call already, and is left in peace until it comes out.
  virtual void left_alone(const TraceThread& thread,
                          const TaskSyscall& call) = 0;
  virtual void signalled(const TraceThread& thread, const siginfo_t& info) = 0;
  // By a signal, all of it.
  virtual void stopped(int pid, int signal) = 0;
  // A thread, or a process with its first thread.
  virtual void started(const TraceThread& thread,
                       const TraceThread& parent) = 0;
  // Another program. The process has but this thread now, whose number is its
  // own: it was `former` when it called.
  virtual void executed(int pid, int former) = 0;
  virtual void ended(const TraceThread& thread, const TracedEnd& how) = 0;
};

class SyscallTracer {
 public:
  using Clock = std::chrono::steady_clock;

  // `children`: processes that it starts are traced as well.
  SyscallTracer(TraceObserver& observer, bool children);

  // All threads of the process. Errors: NoSuchProcess, TracedAlready,
  // NotPermitted; then end the thread that called this.
  Status attach(int pid, Deadline deadline);

  // Until all of them have ended, or `stop`.
  void run();

  void stop();
  // Has it see what the kernel tells by no event: whether those that were left
  // alone have come out. Both are heard for sure only when said again and
  // again.
  void look();

  // So long it has been at one stop, which it holds up. 0: at none.
  Clock::duration busy_for() const;

  // A signal of ours, by which `stop` and `look` reach the tracer.
  static constexpr int kWake = SIGURG;

 private:
  struct Thread {
    TraceThread id;
    bool in_call = false;
    bool wanted = false;  // the exit is to be told
    // It will enter again the call in which it was stopped.
    std::optional<TracedCall> interrupted;
    // ... because we have set it back: undone if a signal comes first.
    bool set_back = false;
    bool listens = false;  // stopped, until SIGCONT
    Clock::time_point entered_at;
  };

  Result<bool> seize(int pid, int tid, Deadline deadline);
  void begin(Thread& thread);
  // In a call that must not be stopped.
  struct Waits {
    int pid = 0;
    int ran = 0;  // looks in a row
  };

  bool must_wait(int pid, int tid);
  static bool still_waits(int tid, Waits& one);
  void seize_who_has_waited();
  void look_at_left_alone();
  void handle(int tid, WaitStatus status, Clock::time_point now);
  void handle_stop(int tid, WaitStatus status, Clock::time_point now);
  Thread* find(int tid);
  Thread* add(int tid);
  void on_syscall(Thread& thread, Clock::time_point now);
  void on_exit(Thread& thread, Clock::time_point now);
  void on_interrupt(Thread& thread);
  void on_signal(Thread& thread, int signal);
  void on_child(const Thread& parent);
  Thread& on_exec(Thread& thread);
  void on_end(int tid, const TracedEnd& how);
  void set_back(Thread& thread, const Registers& registers);
  void resume(const Thread& thread, int signal = 0) const;
  bool is_traced(int pid) const;

  TraceObserver& observer_;
  const bool children_;
  const pthread_t tracer_;
  std::unordered_map<int, Thread> threads_;
  std::map<int, Waits> waiting_;     // threads that are not seized yet
  std::map<int, Waits> left_alone_;  // seized, and not begun
  std::set<int> told_;               // reported to the observer as waiting
  std::set<int> stopped_;            // processes
  std::atomic<bool> stop_ = false;
  std::atomic<Clock::rep> busy_since_ = 0;
  std::atomic<bool> leaves_alone_ = false;
};

}  // namespace hangdbg
