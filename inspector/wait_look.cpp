#include "inspector/wait_look.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "base/text.h"
#include "tracee/proc_file.h"
#include "tracee/proc_status.h"
#include "tracee/proc_tasks.h"

namespace hangdbg {
namespace {

constexpr double kLongAsleep = 1;  // seconds: less is no news

// When the thread last ran, on the scheduler's clock, which counts from boot:
// /proc/PID/task/TID/sched, kernel/sched/debug.c. Empty where the kernel was
// built without it.
std::optional<double> last_ran_s(int pid, int tid) {
  const auto text = read_proc_file(pid, fmt::format("task/{}/sched", tid));
  if (!text) {
    return {};
  }
  const std::size_t key = text->find("se.exec_start");
  const std::size_t colon = text->find(':', key);
  if (key == text->npos || colon == text->npos) {
    return {};
  }
  return std::strtod(text->c_str() + colon + 1, nullptr) / 1000;
}

}  // namespace

Result<WaitLook> look_at_wait(int pid, int tid) {
  const auto status = read_task_status(pid, tid);
  const auto stat = read_task_stat(pid, tid);
  if (!status || !stat) {
    return fail(ErrorId::NoSuchThread, fmt::format("no thread {}", tid));
  }
  WaitLook look;
  look.name = stat->comm;
  look.state = status->state;
  look.switches = status->voluntary_switches + status->involuntary_switches;
  look.cpu_ticks = stat->cpu_ticks;
  if (const auto call = read_task_syscall(pid, tid);
      call && !call->running && call->number >= 0) {
    look.call = *call;
    look.syscall = syscall_name(call->number);
  }
  // Our own thread runs right now: its last run is the clock.
  const auto ran = last_ran_s(pid, tid);
  const auto now = last_ran_s(::getpid(), ::gettid());
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
