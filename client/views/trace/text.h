// A trace for people: a line a call, as strace has taught them, with how long
// it took and the Python that made it.
#pragma once

#include "client/terminal/render.h"
#include "client/views/trace/output.h"
#include "client/views/trace/recorder.h"

namespace hangdbg {

struct TextOptions {
  bool time = false;  // of day, before each line
  bool full_filenames = false;
};

class TraceText final : public TraceView {
 public:
  TraceText(TraceOutput& output, Palette palette, TextOptions options)
      : output_(output), palette_(palette), options_(options) {}

  void call(const CallRecord& record) override;
  void signal(const TraceThread& thread, const siginfo_t& info) override;
  void stopped(int pid, int signal) override;
  void started(const TraceThread& thread, const TraceThread& parent) override;
  void executed(int pid) override;
  void ended(const TraceThread& thread, const TracedEnd& how) override;
  bool wants_words() const override { return true; }
  void end() override {}

 private:
  void line(int tid,
            std::chrono::system_clock::time_point at,
            std::string_view text);
  void remark(int tid, std::string_view text);
  std::string place(const std::vector<PythonFrame>& frames) const;

  TraceOutput& output_;
  const Palette palette_;
  const TextOptions options_;
};

}  // namespace hangdbg
