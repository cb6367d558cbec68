// A trace for programs: a JSON object a line.
#pragma once

#include "client/views/trace/output.h"
#include "client/views/trace/recorder.h"

namespace hangdbg {

class TraceJson final : public TraceView {
 public:
  explicit TraceJson(TraceOutput& output) : output_(output) {}

  void call(const CallRecord& record) override;
  void signal(const TraceThread& thread, const siginfo_t& info) override;
  void stopped(int pid, int signal) override;
  void started(const TraceThread& thread, const TraceThread& parent) override;
  void executed(int pid) override;
  void ended(const TraceThread& thread, const TracedEnd& how) override;
  bool wants_words() const override { return true; }
  void end() override {}

 private:
  TraceOutput& output_;
};

}  // namespace hangdbg
