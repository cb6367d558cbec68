#include "tracee/proc/wait_sample.h"

#include <fmt/core.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "base/text.h"
#include "tracee/proc/kept_wait.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/scheduler_clock.h"

namespace hangdbg {
namespace {

constexpr double kLongAsleep = 1;  // seconds: less is no news

// A restarted nanosleep(2) waits in functions that count as the scheduler's
// (__sched, kernel/time/hrtimer.c), which wchan passes over: what is left is
// the way into any system call.
bool is_way_into_kernel(const std::string& in) {
  constexpr std::array<std::string_view, 6> kWays = {
      "do_syscall",     "x64_sys_call", "entry_SYSCALL",
      "invoke_syscall", "el0_svc",      "restart_syscall"};
  return std::ranges::any_of(
      kWays, [&](std::string_view way) { return in.contains(way); });
}

// A wait with a time limit that a stop has interrupted continues as
// restart_syscall(2), with the arguments of the original call. Where the kernel
// waits tells which (include/linux/restart_block.h: the calls that have one).
// None: it waits no more, though it has no CPU yet.
std::optional<long> restarted_call(int pid, int tid, const TaskSyscall& call) {
  constexpr std::uint64_t kClocks = 4096;  // below are clocks, above pointers
  const std::string in = read_task_wchan(pid, tid).value_or("");
  if (in.starts_with("futex_")) {
    return SYS_futex;
  }
  if (in.starts_with("poll_") || in.starts_with("do_sys_poll") ||
      in.starts_with("do_poll")) {
    return SYS_poll;
  }
  if (in.contains("nanosleep") || in.contains("nsleep") ||
      is_way_into_kernel(in)) {
    return call.args[0] < kClocks ? SYS_clock_nanosleep : SYS_nanosleep;
  }
  return {};
}

// When it ran last is told on the clock of the CPU where it did.
void tell_how_long_asleep(double ran_s, int cpu, WaitSample& look) {
  look.asleep_s = scheduler_since_s(cpu, ran_s);
  if (!look.asleep_s) {
    look.about_asleep_s =
        std::max(0.0, scheduler_now_here_s().value_or(ran_s) - ran_s);
  }
}

struct Look {
  WaitSample seen;
  bool torn = false;  // the thread was woken meanwhile
};

Result<Look> look_at(int pid, int tid) {
  const auto runs = read_task_runs(pid, tid);
  const auto stat = read_task_stat(pid, tid);
  if (!runs || !stat) {
    return fail(ErrorId::NoSuchThread, fmt::format("no thread {}", tid));
  }
  Look look{.seen = {.runs = *runs,
                     .name = stat->comm,
                     .state = stat->state,
                     .cpu_ticks = stat->cpu_ticks}};
  WaitSample& seen = look.seen;
  const auto call = read_task_syscall(pid, tid);
  if (call) {
    seen.call = *call;
    if (!call->running && call->number == SYS_restart_syscall) {
      const auto restarted = restarted_call(pid, tid, *call);
      look.torn = !restarted;
      seen.call.number = restarted.value_or(call->number);
    }
    if (!call->running && call->number >= 0) {
      seen.syscall = syscall_name(seen.call.number);
    }
  }
  if (seen.state == 'R') {
    look.torn = false;
    return look;
  }
  const auto noted = call && !call->running
                         ? noted_wait_s(pid, tid, *stat, *call)
                         : std::nullopt;
  const auto ran = noted ? std::nullopt : last_ran_s(pid, tid);
  const auto after = read_task_runs(pid, tid);
  if (after && *after != *runs) {
    look.torn = true;
    seen.asleep_s = 0;  // has waited for no time that counts
  } else if (noted) {
    seen.asleep_s = monotonic_s() - *noted;
  } else if (after && ran) {
    tell_how_long_asleep(*ran, stat->cpu, seen);
  }
  return look;
}

}  // namespace

// One that runs now and then is told as it was between two of its runs, so that
// its state and its call are of the same sleep.
Result<WaitSample> sample_wait(int pid, int tid) {
  constexpr int kTries = 5;
  for (int left = kTries - 1;; --left) {
    Look look = TRY(look_at(pid, tid));
    if (!look.torn || left == 0) {
      return std::move(look.seen);
    }
  }
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
