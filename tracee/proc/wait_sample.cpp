#include "tracee/proc/wait_sample.h"

#include <fmt/core.h>

#include <chrono>

#include "base/text.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/scheduler_clock.h"

namespace hangdbg {
namespace {

constexpr double kLongAsleep = 1;  // seconds: less is no news

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
    if (!call->running && call->number >= 0) {
      look.syscall = syscall_name(call->number);
    }
  }
  const auto ran = last_ran_s(pid, tid);
  const auto now = ran ? scheduler_now_s(stat->cpu) : std::nullopt;
  if (look.state != 'R' && ran && now && *now >= *ran) {
    look.asleep_s = *now - *ran;
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
