#include "tracee/proc/wait_sample.h"

#include <fmt/core.h>
#include <sys/syscall.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "tracee/proc/kept_wait.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/scheduler_clock.h"

namespace hangdbg {
namespace {

constexpr double kLongAsleep = 1;  // seconds: less is no news

// A wait with a time limit that a stop has interrupted continues as
// restart_syscall(2), with the arguments of the original call. Where the kernel
// waits tells which (include/linux/restart_block.h: the calls that have one).
long restarted_call(int pid, int tid, const TaskSyscall& call) {
  constexpr std::uint64_t kClocks = 4096;  // below are clocks, above pointers
  const std::string in = read_task_wchan(pid, tid).value_or("");
  if (in.starts_with("futex_")) {
    return SYS_futex;
  }
  if (in.starts_with("poll_") || in.starts_with("do_sys_poll") ||
      in.starts_with("do_poll")) {
    return SYS_poll;
  }
  if (in.contains("nanosleep") || in.contains("nsleep")) {
    return call.args[0] < kClocks ? SYS_clock_nanosleep : SYS_nanosleep;
  }
  return call.number;
}

// When it ran last is told on the clock of the CPU where it did. One that has
// run since `look` began has waited for no time that counts.
void tell_how_long_asleep(int pid, int tid, int cpu, WaitSample& look) {
  const auto ran = last_ran_s(pid, tid);
  const auto runs = read_task_runs(pid, tid);
  if (!ran || !runs) {
    return;
  }
  if (*runs != look.runs) {
    look.asleep_s = 0;
    return;
  }
  look.asleep_s = scheduler_since_s(cpu, *ran);
  if (!look.asleep_s) {
    look.about_asleep_s =
        std::max(0.0, scheduler_now_here_s().value_or(*ran) - *ran);
  }
}

}  // namespace

Result<WaitSample> sample_wait(int pid, int tid) {
  const auto runs = read_task_runs(pid, tid);
  const auto stat = read_task_stat(pid, tid);
  if (!runs || !stat) {
    return fail(ErrorId::NoSuchThread, fmt::format("no thread {}", tid));
  }
  WaitSample look{.runs = *runs,
                  .name = stat->comm,
                  .state = stat->state,
                  .cpu_ticks = stat->cpu_ticks};
  if (const auto call = read_task_syscall(pid, tid)) {
    look.call = *call;
    if (!call->running && call->number == SYS_restart_syscall) {
      look.call.number = restarted_call(pid, tid, *call);
    }
    if (!call->running && call->number >= 0) {
      look.syscall = syscall_name(look.call.number);
    }
  }
  if (const auto call = read_task_syscall(pid, tid); call && !call->running) {
    if (const auto began = noted_wait_s(pid, tid, *stat, *call)) {
      look.asleep_s = monotonic_s() - *began;
      return look;
    }
  }
  if (look.state != 'R') {
    tell_how_long_asleep(pid, tid, stat->cpu, look);
  }
  return look;
}

std::string describe(const WaitSample& look) {
  const std::string where = look.syscall.empty() ? "the kernel" : look.syscall;
  const std::string since =
      look.asleep_s && *look.asleep_s > kLongAsleep
          ? " for " + human_duration(std::chrono::nanoseconds(
                          static_cast<std::int64_t>(*look.asleep_s * 1e9)))
          : "";
  switch (look.state) {
    case 'R':
      return "running";
    case 'T':
      return "stopped (SIGSTOP or Ctrl-Z)";
    case 't':
      return "stopped by a debugger";
    case WaitSample::kNoMore:
      return look.syscall.empty() ? "was running" : "was in " + look.syscall;
    case 'Z':
    case 'X':
      return "has ended";
    case 'D':
      return fmt::format("in uninterruptible sleep in {}{}", where, since);
    default:
      return fmt::format("asleep in {}{}", where, since);
  }
}

}  // namespace hangdbg
