// Where the time of an injection went, step by step, in microseconds.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace hangdbg {

class Steps {
 public:
  using Clock = std::chrono::steady_clock;

  // The time since the last call (or construction) belongs to `name`.
  void done(std::string name);

  // A duration that overlaps the steps, such as that of a thread's stop.
  void add(std::string name, Clock::duration duration);

  const std::vector<std::pair<std::string, double>>& microseconds() const {
    return steps_;
  }

 private:
  Clock::time_point last_ = Clock::now();
  std::vector<std::pair<std::string, double>> steps_;
};

}  // namespace hangdbg
