#include "inspector/wait_look.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "base/deadline.h"
#include "base/text.h"
#include "tracee/proc_file.h"
#include "tracee/proc_tasks.h"

namespace hangdbg {
namespace {

constexpr double kLongAsleep = 1;  // seconds: less is no news

// When the thread last ran, on the scheduler's clock, which counts from boot:
// /proc/PID/task/TID/sched, kernel/sched/debug.c. Empty where the kernel was
// built without it.
std::optional<double> last_ran_s(int pid, int tid) {
  const auto text = read_proc_record(pid, fmt::format("task/{}/sched", tid));
  if (!text) {
    return {};
  }
  const std::size_t key = text->find("se.exec_start");
  const std::size_t colon = text->find(':', key);
  if (key == text->npos || colon == text->npos) {
    return {};
  }
  // 0: it was given to another CPU, and has not run there yet
  // (migrate_task_rq_fair).
  const double ran_ms = std::strtod(text->c_str() + colon + 1, nullptr);
  return ran_ms > 0 ? std::optional(ran_ms / 1000) : std::nullopt;
}

// The scheduler's clock. Our own thread runs right now: its last run is the
// time. From then on both clocks go alike for long enough.
std::optional<double> scheduler_now_s() {
  constexpr auto kFresh = std::chrono::milliseconds(200);
  thread_local Deadline fresh = Deadline::in({});
  thread_local std::optional<double> ahead_s;  // of the monotonic clock
  const auto monotonic_s = [] {
    return std::chrono::duration<double>(
               Deadline::Clock::now().time_since_epoch())
        .count();
  };
  if (fresh.expired()) {
    const auto own = last_ran_s(::getpid(), ::gettid());
    ahead_s = own ? std::optional(*own - monotonic_s()) : std::nullopt;
    fresh = Deadline::in(kFresh);
  }
  return ahead_s ? std::optional(monotonic_s() + *ahead_s) : std::nullopt;
}

}  // namespace

Result<WaitLook> look_at_wait(int pid, int tid) {
  const auto runs = read_task_runs(pid, tid);
  const auto stat = read_task_stat(pid, tid);
  if (!runs || !stat) {
    return fail(ErrorId::NoSuchThread, fmt::format("no thread {}", tid));
  }
  WaitLook look{.runs = *runs,
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
  const auto now = scheduler_now_s();
  if (look.state != 'R' && ran && now && *now >= *ran) {
    look.asleep_s = *now - *ran;
  }
  return look;
}

std::string describe(const WaitLook& look) {
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
    case WaitLook::kNoMore:
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
