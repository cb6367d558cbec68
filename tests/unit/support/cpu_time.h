// The CPU time of the calling thread, for bounds that hold on a busy machine.
#pragma once

#include <chrono>
#include <ctime>

namespace hangdbg {

class CpuTime {
 public:
  std::chrono::nanoseconds spent() const { return now() - begun_; }

 private:
  static std::chrono::nanoseconds now() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) +
           std::chrono::nanoseconds(time.tv_nsec);
  }

  std::chrono::nanoseconds begun_ = now();
};

}  // namespace hangdbg
