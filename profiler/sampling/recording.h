// A recording: samples of some processes at fixed moments, until it is over.
//
// One thread of ours takes all samples. It is a tracer, so when it ends, for
// whatever reason, the kernel resumes what it has stopped. The caller adds
// processes, queries the state, and ends it, from another thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "profiler/profile/profile.h"
#include "profiler/sampling/sampled_process.h"
#include "profiler/sampling/schedule.h"

namespace hangdbg {

struct RecordingOptions {
  SamplingOptions sampling;
  double rate = 100;         // Hz
  double most_cost = 0.01;   // of the time for which threads are stopped by us
  bool keeps_order = false;  // of the samples
  bool keeps_processes = false;  // of which process each is
};

struct RecordingState {
  SampleCounts counts;
  std::chrono::nanoseconds lasted{};
  std::chrono::nanoseconds stopped{};  // the threads, all together
  std::chrono::nanoseconds used{};     // of the CPU, by us
  double lowest_rate = 0;
  bool was_lowered = false;
  std::uint64_t put_off = 0;  // samples, as those before had cost too much
  std::size_t processes = 0;  // now
};

class Recording {
 public:
  explicit Recording(const RecordingOptions& options);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void add(std::unique_ptr<SampledProcess> process);
  // Takes samples until `stop`. On a thread of its own.
  void run();
  void stop();

  RecordingState state();
  // Those that are sampled now, by pid.
  std::vector<int> pids();
  // What was seen so far. Hold the lock while it is read.
  const Profile& profile() const { return profile_; }
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  double rate() const { return options_.rate; }
  bool has_tasks() const { return options_.sampling.tasks; }

 private:
  void sample_until_stuck(Schedule& schedule);
  bool sample_all(Schedule& schedule);  // false: a thread is stuck
  bool wait(Schedule::Clock::time_point until) const;
  void finish();
  void take_added();

  RecordingOptions options_;
  Fd over_;
  std::atomic<bool> stops_ = false;
  std::vector<std::unique_ptr<SampledProcess>> processes_;  // run's alone
  std::uint64_t due_at_once_ = 0;                           // the last time
  std::uint64_t missed_ = 0;  // since then, of each thread

  std::mutex mutex_;  // of all below
  Profile profile_;
  std::vector<std::unique_ptr<SampledProcess>> added_;
  std::vector<int> pids_;
  RecordingState state_;
  bool has_stacks_ = false;
  Schedule::Clock::time_point start_;
  std::chrono::nanoseconds used_before_{};
};

}  // namespace hangdbg
