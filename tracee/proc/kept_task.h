// KeptTask: a thread's files in /proc, opened once for frequent readers.
//
// A sampler checks hundreds of times a second whether each thread has run.
// Opening and closing a file costs more than reading it.
#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {

class KeptTask {
 public:
  // Where hangdbg has many descriptors already, none is kept.
  KeptTask(int pid, int tid);
  KeptTask(KeptTask&& other) noexcept;
  KeptTask& operator=(KeptTask&&) = delete;
  ~KeptTask();

  int tid() const { return tid_; }

  // As read_task_runs. Errors: NoSuchThread, NoSuchProcess, System.
  Result<SchedStats> runs() const;
  // As read_task_syscall: whether it is blocked in the kernel, and neither runs
  // nor is about to; and where. Errors: those, and NotPermitted.
  Result<TaskSyscall> call() const;

 private:
  int pid_;
  int tid_;
  Fd schedstat_;
  Fd syscall_;
};

}  // namespace hangdbg
