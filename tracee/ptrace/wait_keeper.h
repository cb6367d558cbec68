// WaitKeeper: a thread that we stop in a wait, and whose wait then continues,
// has waited all the time (tracee/proc/kept_wait.h).
//
// It is noted only if that is proved: the thread's next step is the
// same call with the same arguments, at the same place of the same stack, and
// it falls asleep in it. So no code of the program has run in between: nor
// before the stop, for it slept until it was asked to stop.
#pragma once

#include <cstdint>
#include <optional>

#include "tracee/proc/kept_task.h"
#include "tracee/proc/kept_wait.h"
#include "tracee/proc/wait_sample.h"
#include "tracee/ptrace/traced_thread.h"

namespace hangdbg {

class WaitKeeper {
 public:
  // Looks at the thread, before it is stopped.
  WaitKeeper(int pid, int tid);

  // What it did then; empty: that could not be read.
  const std::optional<WaitSample>& look() const { return look_; }

  // Stops it (TracedThread::interrupt).
  Status interrupt(TracedThread& thread, Deadline deadline);

  // In its stop, before anything is changed in it.
  void stopped(const TracedThread& thread, const Registers& registers);

  // Instead of a detach, when all is as it was in that stop. If the thread runs
  // on then, it is detached by the end of its tracer, which does not stop it.
  Status let_go(TracedThread& thread);

  // After the end of the tracer: it may take its time.
  void note();

 private:
  bool has_just_not_run() const;
  bool ran_there() const;
  bool has_run(std::uint64_t times) const;
  bool enters_again(const Registers& now) const;
  Status watch_falling_asleep(TracedThread& thread);

  int pid_;
  int tid_;
  KeptTask task_;
  std::optional<WaitSample> look_;
  std::optional<KeptWait> before_;
  std::uint64_t runs_ = 0;  // times that it had run, when `before_` was taken
  std::optional<int> runs_on_;  // the CPU where its run for the stop has to be
  std::optional<Registers> at_;
  std::optional<KeptWait> kept_;
};

}  // namespace hangdbg
