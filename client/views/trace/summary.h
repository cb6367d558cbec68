// `trace -c`: how often each call was made, how often in vain, and how long it
// took, those that took longest first.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>

#include "client/views/trace/output.h"
#include "client/views/trace/recorder.h"

namespace hangdbg {

class TraceSummary final : public TraceView {
 public:
  TraceSummary(TraceOutput& output, bool json) : output_(output), json_(json) {}

  void call(const CallRecord& record) override;
  void signal(const TraceThread&, const siginfo_t&) override {}
  void stopped(int, int) override {}
  void started(const TraceThread&, const TraceThread&) override {}
  void executed(int) override {}
  void ended(const TraceThread&, const TracedEnd&) override {}
  bool wants_words() const override { return false; }
  void end() override;

 private:
  struct Sum {
    std::size_t calls = 0;
    std::size_t errors = 0;
    std::chrono::nanoseconds time{};
  };

  TraceOutput& output_;
  const bool json_;
  std::map<long, Sum> sums_;  // by number; those of the 32-bit table below 0
};

}  // namespace hangdbg
