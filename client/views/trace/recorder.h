// Recorder: what the tracer sees, as records that can be shown.
//
// A call is told when it is over, or when it has not been for a while; and once
// more then. So the lines of a thread that hangs come too.
//
// The tracer's thread calls it as a TraceObserver, and main `tell_waiting`; a
// mutex keeps them apart.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "inspector/cpython/stacks/python_stack.h"
#include "inspector/snapshot/python_places.h"
#include "tracee/memory/memory.h"
#include "tracee/ptrace/syscall_tracer.h"
#include "tracee/syscalls/call_set.h"
#include "tracee/syscalls/call_text.h"
#include "tracee/syscalls/descriptor_names.h"

namespace hangdbg {

struct CallRecord {
  enum class State {
    Over,     // there is a result
    Waiting,  // still in it
    Alone,    // still in it since before, and not to be disturbed
    Gone,     // the thread has ended in it
  };

  TraceThread thread;
  State state = State::Over;
  TracedCall call;
  std::chrono::system_clock::time_point at;  // of its entry
  std::vector<std::string> arguments;
  std::int64_t result = 0;
  std::string result_text;
  std::chrono::nanoseconds took{};  // so far
  bool told_before = false;         // as one that waits
  std::vector<PythonFrame> python;  // innermost first
};

// What is shown, and where.
class TraceView {
 public:
  virtual ~TraceView() = default;
  virtual void call(const CallRecord& record) = 0;
  virtual void signal(const TraceThread& thread, const siginfo_t& info) = 0;
  virtual void stopped(int pid, int signal) = 0;
  virtual void started(const TraceThread& thread,
                       const TraceThread& parent) = 0;
  virtual void executed(int pid) = 0;
  virtual void ended(const TraceThread& thread, const TracedEnd& how) = 0;
  // Whether arguments and results are wanted in words.
  virtual bool wants_words() const = 0;
  virtual void end() = 0;
};

struct RecorderOptions {
  CallSet calls = CallSet::all();
  std::size_t most_bytes = 32;       // of what is read or written
  std::size_t python_frames = 0;     // 0: none
  std::optional<std::size_t> count;  // of calls, then it is over
};

class Recorder final : public TraceObserver {
 public:
  // `enough` is called when `count` calls were told, perhaps more than once.
  Recorder(TraceView& view,
           const RecorderOptions& options,
           std::function<void()> enough)
      : view_(view), options_(options), enough_(std::move(enough)) {}

  // Of the process that is traced first, where Python is wanted.
  void add_python(int pid, std::unique_ptr<PythonPlaces> places);

  // Calls that have not come back for a while, where they are told in words.
  void tell_waiting();
  // All that are not over, when we leave.
  void tell_rest();

  bool entered(const TraceThread& thread, const TracedCall& call) override;
  void left(const TraceThread& thread, const TracedResult& result) override;
  void left_alone(const TraceThread& thread, const TaskSyscall& call) override;
  void signalled(const TraceThread& thread, const siginfo_t& info) override;
  void stopped(int pid, int signal) override;
  void started(const TraceThread& thread, const TraceThread& parent) override;
  void executed(int pid, int former) override;
  void ended(const TraceThread& thread, const TracedEnd& how) override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Process {
    explicit Process(int pid) : memory(pid), descriptors(pid) {}
    MemoryFile memory;
    DescriptorNames descriptors;
    std::unique_ptr<PythonPlaces> python;
    bool python_tried = false;
  };
  struct Call {
    CallRecord record;
    Clock::time_point since;
  };

  Process& process(int pid);
  CallPlace place(Process& process) const;
  void find_python(int tid, Process& process, CallRecord& record);
  void tell_waiting(Call& call, CallRecord::State state);
  void tell(const CallRecord& record);

  std::mutex mutex_;
  TraceView& view_;
  const RecorderOptions options_;
  const std::function<void()> enough_;
  std::unordered_map<int, std::unique_ptr<Process>> processes_;
  std::unordered_map<int, Call> calls_;  // that are not over, by thread
  std::size_t told_ = 0;
};

}  // namespace hangdbg
