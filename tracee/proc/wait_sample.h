// What the kernel says of a thread at one moment: whether it sleeps, in which
// system call, and since when.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {

struct WaitSample {
  static constexpr char kNoMore = '-';  // the state of a thread in a core file

  SchedStats runs;   // before all the rest
  std::string name;  // the kernel's: comm
  char state = '?';
  std::string syscall;  // its name; "" when it is in none, or runs
  TaskSyscall call;
  std::uint64_t cpu_ticks = 0;
  std::optional<double> asleep_s;  // not run since; empty when unknown
  // Where only the clock of another CPU could be read: may be seconds wrong.
  std::optional<double> about_asleep_s;
};

// Before an attach stops the thread for a moment: after it, the thread has run.
// Errors: NoSuchThread.
Result<WaitSample> sample_wait(int pid, int tid);

// "asleep in futex for 1 h 52 min", "running", "stopped (SIGSTOP or Ctrl-Z)":
// no more than one look can tell.
std::string describe(const WaitSample& look);

}  // namespace hangdbg
