#include "profiler/sampling/recording.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "tracee/ptrace/brief_stop.h"
#include "tracee/ptrace/traced_thread.h"

namespace hangdbg {
namespace {

using RecordingClock = Schedule::Clock;

std::chrono::nanoseconds cpu_time() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) +
         std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace

Recording::Recording(const RecordingOptions& options)
    : options_(options),
      over_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      profile_(options.keeps_order, options.keeps_processes),
      start_(RecordingClock::now()),
      used_before_(cpu_time()) {
  state_.lowest_rate = options.rate;
}

void Recording::add(std::unique_ptr<SampledProcess> process) {
  const std::lock_guard lock(mutex_);
  pids_.push_back(process->pid());
  added_.push_back(std::move(process));
}

void Recording::stop() {
  stops_ = true;
  const std::uint64_t one = 1;
  (void)!::write(over_.get(), &one, sizeof one);
}

RecordingState Recording::state() {
  const std::lock_guard lock(mutex_);
  RecordingState state = state_;
  state.lasted = RecordingClock::now() - start_;
  state.used = cpu_time() - used_before_;
  state.processes = pids_.size();
  return state;
}

std::vector<int> Recording::pids() {
  const std::lock_guard lock(mutex_);
  return pids_;
}

// A tracer that could not stop a thread ends, for the kernel to release it, and
// another continues.
void Recording::run() {
  {
    const std::lock_guard lock(mutex_);
    start_ = RecordingClock::now();
    used_before_ = cpu_time();
  }
  Schedule schedule(start_, options_.rate, options_.most_cost);
  while (!stops_) {
    run_as_tracer([&] {
      sample_until_stuck(schedule);
      return true;
    });
  }
  finish();
}

// What waits to be added, for which there was no time so far.
void Recording::finish() {
  const SampleSink sink{profile_, mutex_};
  for (const auto& process : processes_) {
    process->finish(sink);
  }
}

void Recording::sample_until_stuck(Schedule& schedule) {
  const Urgent urgent;
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // of this thread: it is awaited to the us
  while (wait(schedule.next()) && sample_all(schedule)) {
  }
}

// False: it is over.
bool Recording::wait(RecordingClock::time_point until) const {
  while (!stops_) {
    const auto left = until - RecordingClock::now();
    if (left <= left.zero()) {
      return true;
    }
    const auto whole = std::chrono::floor<std::chrono::seconds>(left);
    const timespec time{whole.count(), (left - whole).count()};
    pollfd awaited{over_.get(), POLLIN, 0};
    ::ppoll(&awaited, 1, &time, nullptr);
  }
  return false;
}

bool Recording::sample_all(Schedule& schedule) {
  take_added();
  const bool late = schedule.is_late(RecordingClock::now());
  const SampleSink sink{profile_,        mutex_,
                        schedule.unit(), schedule.weight(),
                        schedule.next(), schedule.period(),
                        missed_,         schedule.usual_weight()};
  SampleCounts counts;
  std::chrono::nanoseconds stopped{};
  std::chrono::nanoseconds longest{};  // of one process
  std::uint64_t covered = 0;
  bool stuck = false;
  std::vector<int> lost;
  for (const auto& process : processes_) {
    const auto outcome = process->sample(sink);
    if (!outcome) {
      log::debug(log::Area::Inspector, "process {}: {}", process->pid(),
                 outcome.error().text());
      process->finish(sink);
      lost.push_back(process->pid());
      continue;
    }
    counts.due += outcome->due;
    counts.kept += outcome->kept;
    covered += outcome->covered;
    stopped += outcome->stopped;
    longest = std::max(longest, outcome->stopped);
    if (outcome->stuck) {
      stuck = true;
      break;
    }
  }
  std::erase_if(processes_, [&](const auto& process) {
    return std::ranges::find(lost, process->pid()) != lost.end();
  });
  missed_ = schedule.advance(RecordingClock::now(), longest);
  const std::uint64_t missed = missed_ * std::max(counts.due, due_at_once_);
  due_at_once_ = counts.due;

  const std::lock_guard lock(mutex_);
  if (!std::exchange(has_stacks_, profile_.weight() > 0) && has_stacks_) {
    log::debug(log::Area::Inspector, "the first stack is recorded");
  }
  SampleCounts& sum = state_.counts;
  sum.due += counts.due + missed;
  covered = std::min(covered, sum.missed);
  sum.kept += counts.kept + covered;
  sum.late += (late ? counts.kept : 0) + covered;
  sum.missed += counts.due - counts.kept + missed - covered;
  state_.stopped += stopped;
  state_.lowest_rate = schedule.lowest_rate();
  state_.was_lowered = schedule.was_lowered();
  state_.put_off = schedule.times_put_off();
  std::erase_if(pids_, [&](int pid) {
    return std::ranges::find(lost, pid) != lost.end();
  });
  return !stuck;
}

void Recording::take_added() {
  const std::lock_guard lock(mutex_);
  std::ranges::move(added_, std::back_inserter(processes_));
  added_.clear();
}

}  // namespace hangdbg
