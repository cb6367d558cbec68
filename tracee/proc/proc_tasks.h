// The threads of a process as the kernel shows them: /proc/PID/task/*.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tracee/memory/address.h"

namespace hangdbg {

// Thread ids, the main thread (tid == pid) first.
Result<std::vector<int>> list_tasks(int pid);

// /proc/PID/task/TID/syscall (proc_pid_syscall(5)). Needs the right to trace.
struct TaskSyscall {
  bool running = false;  // then nothing else is known
  long number = -1;      // -1: blocked, but not in a system call
  std::array<std::uint64_t, 6> args{};
  Address sp;
  Address pc;

  bool operator==(const TaskSyscall&) const = default;
};
TaskSyscall parse_task_syscall(const std::string& text);
Result<TaskSyscall> read_task_syscall(int pid, int tid);

// /proc/PID/task/TID/stat (proc_pid_stat(5)).
struct TaskStat {
  std::string comm;
  char state = '?';
  std::uint32_t flags = 0;      // PF_*
  std::uint64_t cpu_ticks = 0;  // user + system
  std::uint64_t system_ticks = 0;
  std::uint64_t start_ticks = 0;  // after boot
  int nice = 0;
  int cpu = 0;            // on which it ran last
  unsigned priority = 0;  // 1 to 99 of SCHED_FIFO and SCHED_RR
  unsigned policy = 0;    // SCHED_OTHER, SCHED_FIFO, ... (sched(7))
  // Of one that has ended, as in waitpid(2); 0 without the right to trace.
  int exit_code = 0;
};
Result<TaskStat> read_task_stat(int pid, int tid);

// Where in the kernel it sleeps: "futex_wait_queue". Empty: it does not, or
// that is not told. Errors: those of read_proc_file.
Result<std::string> read_task_wchan(int pid, int tid);

// How often and how long the thread has run. A thread that sleeps, and whose
// numbers are the same later, has not run meanwhile.
struct SchedStats {
  std::uint64_t times = 0;
  std::uint64_t nanoseconds = 0;  // 0 where the kernel does not say

  bool operator==(const SchedStats&) const = default;
};
// What schedstat says; empty where the kernel keeps no such numbers.
std::optional<SchedStats> parse_schedstat(std::string_view text);
// From /proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst),
// or the switches in its status, where the kernel lacks the former.
Result<SchedStats> read_task_runs(int pid, int tid);

// "futex"; "syscall_436" for those without a name here.
std::string syscall_name(long number);

}  // namespace hangdbg
