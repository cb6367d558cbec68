#include "inspector/cpython/stacks/thread_sample.h"

#include <system_error>
#include <utility>

#include "base/log.h"
#include "tracee/ptrace/brief_stop.h"
#include "tracee/ptrace/traced_thread.h"

namespace hangdbg {
namespace {

constexpr int kThreadSampleTries = 3;
// It may have no CPU; as long as it does not run, it is not held up.
constexpr auto kThreadSampleTimeout = std::chrono::milliseconds(250);

struct Sampler {
  int pid;
  const MemoryReader& memory;
  const PythonRuntime& python;
  PythonStackReader& stacks;
  const PythonThread& thread;
  const SampleOptions& options;

  Result<ThreadSample> asleep() const;
  Result<ThreadSample> stopped() const;
  Result<ThreadSample> stop_and_read(const FrameChain* expected) const;
  Status copy(const TracedThread& traced_thread) const {
    return options.copy(TRY(traced_thread.registers()));
  }
  Result<FrameChain> chain(const FrameChain* expected = nullptr) const {
    return thread.state ? read_frame_chain(memory, python.layout, thread.state,
                                           options.most, expected)
                        : FrameChain();
  }
  Result<PythonStack> stack() const {
    return thread.state ? stacks.read(thread.state, options.most)
                        : PythonStack();
  }
};

}  // namespace

Result<ThreadSample> sample_thread(int pid,
                                   const MemoryReader& memory,
                                   const PythonRuntime& python,
                                   PythonStackReader& stacks,
                                   const PythonThread& thread,
                                   const SampleOptions& options) {
  const Sampler look{pid, memory, python, stacks, thread, options};
  WaitSample wait;
  bool stops = options.may_stop;
  for (int tried = 0; thread.tid && tried < kThreadSampleTries; ++tried) {
    auto found = look.asleep();
    if (found && tried == 0) {
      wait = found->wait;  // once we have stopped it, it has just run
    }
    if (stops && !(found && found->stack.exact)) {
      found = look.stopped();
    }
    if (found && found->stack.exact) {
      found->wait = std::move(wait);
      return found;
    }
    if (!found) {
      log::debug(log::Area::Inspector, "thread {}: {}", *thread.tid,
                 found.error().text());
      stops &= found.error().id != ErrorId::TimedOut;
    }
  }
  return ThreadSample{.stack = TRY(look.stack()), .wait = std::move(wait)};
}

namespace {

// Not exact if it runs, or has run meanwhile.
Result<ThreadSample> Sampler::asleep() const {
  ThreadSample look{.wait = TRY(sample_wait(pid, *thread.tid))};
  if (look.wait.call.running) {
    return look;
  }
  look.stack = TRY(stack());
  if (options.copy) {
    Registers registers;
    registers.raw.rip = look.wait.call.pc.value;
    registers.raw.rsp = look.wait.call.sp.value;
    TRY(options.copy(registers));
  }
  look.stack.exact = TRY(read_task_runs(pid, *thread.tid)) == look.wait.runs;
  return look;
}

// By a thread of ours that ends with it: one that does not stop in time would
// else stop later, and stay stopped for as long as we continue with others.
Result<ThreadSample> Sampler::stopped() const {
  // Nearly all of its frames will be the same once stopped: they are fetched
  // at once then, and their code objects are known by name already.
  const auto expected = chain();
  if (expected) {
    (void)stacks.name(*expected);
  }
  const Urgent urgent;
  try {
    return run_as_tracer(
        [&] { return stop_and_read(expected ? &*expected : nullptr); });
  } catch (const std::system_error&) {
    return fail(ErrorId::System, "no thread of ours can be started");
  }
}

Result<ThreadSample> Sampler::stop_and_read(const FrameChain* expected) const {
  FrameChain words;
  ThreadSample look;
  look.stopped =
      TRY(while_stopped(*thread.tid, kThreadSampleTimeout,
                        [&](const TracedThread& still) -> Status {
                          words = TRY(chain(expected));
                          return options.copy ? copy(still) : Status();
                        }));
  look.stack = TRY(stacks.name(words));
  look.stack.exact = true;
  return look;
}

}  // namespace
}  // namespace hangdbg
