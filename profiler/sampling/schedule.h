// When samples are due, and what became of them.
//
// They are due at fixed moments, whatever the last one has cost: one that could
// not be taken is counted, and is not moved to a better moment.
#pragma once

#include <chrono>
#include <cstdint>

namespace hangdbg {

// A sample is one stack of one thread.
struct SampleCounts {
  std::uint64_t due = 0;
  std::uint64_t kept = 0;
  std::uint64_t late = 0;  // of those kept: half a period or more
  std::uint64_t missed = 0;
  std::uint64_t torn = 0;  // kept, and not from one moment: there is none
};

class Schedule {
 public:
  using Clock = std::chrono::steady_clock;

  Schedule(Clock::time_point start, double rate, double most_cost);

  // When the next one is due: each `usual_weight` units one is, unless those
  // before it have cost more than they may.
  Clock::time_point next() const { return start_ + period_ * next_; }
  // In units since the start: for which time what is due next stands.
  std::uint64_t unit() const {
    return static_cast<std::uint64_t>(next_ - put_off_);
  }
  std::uint64_t weight() const {
    return static_cast<std::uint64_t>(weight_ + put_off_);
  }
  std::uint64_t usual_weight() const {
    return static_cast<std::uint64_t>(weight_);
  }
  Clock::duration period() const { return period_ * weight_; }

  bool is_late(Clock::time_point now) const {
    return now - next() >= period() / 2;
  }
  // After a sample is done at `now`, which has held the target up for
  // `stopped`. How many are missed: those that have become due meanwhile and
  // were followed by another that is due as well.
  std::uint64_t advance(Clock::time_point now, Clock::duration stopped);

  double lowest_rate() const { return rate_ / static_cast<double>(heaviest_); }
  bool was_lowered() const { return heaviest_ > 1; }
  // How often the next one was, as those before it had cost too much.
  std::uint64_t times_put_off() const { return times_put_off_; }

 private:
  void adapt(Clock::time_point now);
  void put_off(Clock::duration stopped);

  Clock::time_point start_;
  Clock::duration period_;
  double rate_;
  double most_cost_;
  std::int64_t next_ = 0;
  std::int64_t weight_ = 1;
  std::int64_t heaviest_ = 1;
  std::int64_t put_off_ = 0;  // units, by which the next one is
  std::uint64_t times_put_off_ = 0;
  double spent_ = 0;  // seconds, for which threads were stopped in all
  // Since the weight was last looked at.
  Clock::time_point since_;
  Clock::duration stopped_{};
  std::int64_t samples_ = 0;
  double one_ = 0;  // seconds for which one sample stops threads
};

}  // namespace hangdbg
