#include "profiler/sampling/schedule.h"

#include <algorithm>
#include <cmath>

namespace hangdbg {
namespace {

// What one sample costs is told from so many, or from so long.
constexpr std::int64_t kSamplesToAdapt = 50;
constexpr auto kAdaptAfter = std::chrono::seconds(1);
constexpr double kLowestRate = 0.1;  // Hz: less is no profile

}  // namespace

Schedule::Schedule(Clock::time_point start, double rate, double most_cost)
    : start_(start),
      period_(std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(1 / rate))),
      rate_(rate),
      most_cost_(most_cost),
      since_(start) {}

std::uint64_t Schedule::advance(Clock::time_point now,
                                Clock::duration stopped) {
  next_ += weight_;
  stopped_ += stopped;
  ++samples_;
  adapt(now);
  put_off(stopped);
  std::uint64_t missed = 0;
  while (next() + period() <= now) {
    next_ += weight_;
    ++missed;
  }
  return missed;
}

// What a sample will cost is a guess, and wrong as soon as others want the CPU
// as well. So the next one waits until those before it have cost no more than
// they may.
void Schedule::put_off(Clock::duration stopped) {
  spent_ += std::chrono::duration<double>(stopped).count();
  const double due_at = std::chrono::duration<double>(next() - start_).count();
  const double too_early = spent_ / most_cost_ - due_at;
  put_off_ = 0;
  if (too_early > 0) {
    const double periods =
        std::ceil(too_early / std::chrono::duration<double>(period()).count());
    put_off_ = static_cast<std::int64_t>(periods) * weight_;
    next_ += put_off_;
    ++times_put_off_;
  }
}

void Schedule::adapt(Clock::time_point now) {
  if (samples_ < kSamplesToAdapt && now - since_ < kAdaptAfter) {
    return;
  }
  const double seconds = std::chrono::duration<double>(stopped_).count();
  // One that was held up by others says little: half of it is what was before.
  const double now_one = seconds / static_cast<double>(samples_);
  one_ = one_ == 0 ? now_one : (one_ + now_one) / 2;
  // The cost of all requested samples, as a share of the time.
  const double heaviest = std::max(1.0, rate_ / kLowestRate);
  const double weight = std::ceil(one_ * rate_ / most_cost_);
  weight_ = static_cast<std::int64_t>(std::clamp(weight, 1.0, heaviest));
  heaviest_ = std::max(heaviest_, weight_);
  since_ = now;
  stopped_ = {};
  samples_ = 0;
}

}  // namespace hangdbg
