// Deadline: the moment after which a wait gives up.
//
// Every wait in hangdbg takes one. It is a point on the monotonic clock, made
// once at the top of an operation and handed down, so that nested waits cannot
// add up to more than the user allowed.
#pragma once

#include <algorithm>
#include <chrono>

namespace hangdbg {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline in(Clock::duration from_now) {
    return Deadline(Clock::now() + from_now);
  }

  bool expired() const { return Clock::now() >= at_; }
  Clock::time_point at() const { return at_; }

  // Never negative.
  Clock::duration left() const {
    return std::max(at_ - Clock::now(), Clock::duration::zero());
  }

  // Rounded up, as poll(2) wants it: 0 only when expired.
  int left_ms() const {
    const auto rounded =
        std::chrono::ceil<std::chrono::milliseconds>(left()).count();
    return static_cast<int>(std::min<long long>(rounded, 1'000'000'000));
  }

  // The earlier of this and `from_now`.
  Deadline capped(Clock::duration from_now) const {
    return Deadline(std::min(at_, Clock::now() + from_now));
  }

 private:
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

}  // namespace hangdbg
