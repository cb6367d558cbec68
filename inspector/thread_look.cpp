#include "inspector/thread_look.h"

#include "base/log.h"

namespace hangdbg {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTries = 3;
constexpr auto kPatience = std::chrono::milliseconds(20);

struct Looker {
  int pid;
  const MemoryReader& memory;
  const PythonRuntime& python;
  PythonStackReader& stacks;
  const PythonThread& thread;
  const LookOptions& options;

  Result<ThreadLook> asleep() const;
  Result<ThreadLook> stopped() const;
  Result<FrameChain> chain(const FrameChain* expected = nullptr) const {
    return read_frame_chain(memory, python.layout, thread.state, options.most,
                            expected);
  }
};

}  // namespace

Result<ThreadLook> look_at_thread(int pid,
                                  const MemoryReader& memory,
                                  const PythonRuntime& python,
                                  PythonStackReader& stacks,
                                  const PythonThread& thread,
                                  const LookOptions& options) {
  const Looker look{pid, memory, python, stacks, thread, options};
  for (int tried = 0; thread.tid && tried < kTries; ++tried) {
    auto found = look.asleep();
    if (!found || !found->stack.exact) {
      if (options.may_stop) {
        found = look.stopped();
      }
    }
    if (found && found->stack.exact) {
      return found;
    }
    if (!found) {
      log::debug(log::Area::Inspector, "thread {}: {}", *thread.tid,
                 found.error().text());
    }
  }
  ThreadLook torn;
  torn.stack = TRY(stacks.read(thread.state, options.most));
  return torn;
}

namespace {

// Not exact if it runs, or has run meanwhile.
Result<ThreadLook> Looker::asleep() const {
  const int tid = *thread.tid;
  ThreadLook look;
  const TaskRuns before = TRY(read_task_runs(pid, tid));
  look.call = TRY(read_task_syscall(pid, tid));
  if (look.call->running) {
    return look;
  }
  look.stack = TRY(stacks.read(thread.state, options.most));
  if (options.copy) {
    TRY(options.copy(nullptr, *look.call));
  }
  look.stack.exact = TRY(read_task_runs(pid, tid)) == before;
  return look;
}

Result<ThreadLook> Looker::stopped() const {
  // Nearly all of its frames will be the same when it stands: they are fetched
  // at once then, and their code objects are known by name already.
  const auto expected = chain();
  if (expected) {
    (void)stacks.name(*expected);
  }
  auto attachment = TRY(Attachment::seize(*thread.tid));
  const auto start = Clock::now();
  TRY(attachment.interrupt(Deadline::in(kPatience)));
  const auto words = chain(expected ? &*expected : nullptr);
  ThreadLook look;
  look.call = TaskSyscall{.running = true};
  const Status copied =
      options.copy ? options.copy(&attachment, *look.call) : Status();
  TRY(attachment.detach());
  look.stopped = Clock::now() - start;
  TRY(copied);
  look.stack = TRY(stacks.name(TRY(words)));
  look.stack.exact = true;
  return look;
}

}  // namespace
}  // namespace hangdbg
