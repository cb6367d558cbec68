#include "tracee/proc/scheduler_clock.h"

#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/deadline.h"
#include "base/visit_cpus.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(5);
constexpr double kFreshS = 0.2;  // the age of a reading that is used again

// How far the clock of this thread's CPU is ahead of the monotonic one. It runs
// right now: its last run is the time.
std::optional<double> ahead_here_s(int cpu) {
  if (::sched_getcpu() != cpu) {
    return {};
  }
  const auto own = last_ran_s(::getpid(), ::gettid());
  const double now = monotonic_s();
  return own && ::sched_getcpu() == cpu ? std::optional(*own - now)
                                        : std::nullopt;
}

std::optional<double> ahead_there_s(int cpu) {
  if (cpu >= CPU_SETSIZE) {
    return {};
  }
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(cpu), &only);
  std::optional<double> said;
  visit_cpus(only, {}, kPatience, [&] { said = ahead_here_s(cpu); });
  return said;  // of nothing, where it worked on another CPU
}

// A CPU's, as it was read last, by whichever of our threads.
struct ReadClock {
  std::mutex mutex;
  std::optional<double> read_s;  // on the monotonic clock; empty: never
  std::optional<double> ahead_s;

  double age_s() const { return monotonic_s() - *read_s; }
};

ReadClock& read_clock(int cpu) {
  static std::mutex mutex;
  // Never destroyed: a thread of ours may still look while we exit.
  static auto& clocks = *new std::map<int, ReadClock>;
  const std::lock_guard one_at_a_time(mutex);
  return clocks[cpu];
}

}  // namespace

double monotonic_s() {
  return std::chrono::duration<double>(
             Deadline::Clock::now().time_since_epoch())
      .count();
}

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

std::optional<double> scheduler_since_s(int cpu, double then_s) {
  ReadClock& clock = read_clock(cpu);
  const std::lock_guard one_at_a_time(clock.mutex);
  const auto since_s = [&] {
    return clock.ahead_s
               ? std::optional(monotonic_s() + *clock.ahead_s - then_s)
               : std::nullopt;
  };
  // A reading from before `then_s` would add what was taken in between, which
  // is no more than the time in between.
  if (!clock.read_s || clock.age_s() > kFreshS ||
      (clock.ahead_s && *since_s() <= clock.age_s())) {
    clock.read_s = monotonic_s();
    clock.ahead_s = ahead_here_s(cpu);
    if (!clock.ahead_s) {
      clock.ahead_s = ahead_there_s(cpu);
    }
  }
  const auto since = since_s();
  return since && *since >= 0 ? since : std::nullopt;
}

std::optional<double> scheduler_now_here_s() {
  return last_ran_s(::getpid(), ::gettid());
}

}  // namespace hangdbg
