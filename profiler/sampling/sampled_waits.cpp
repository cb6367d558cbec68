// Of SampledProcess: why a thread that is blocked does not run.
#include <sys/syscall.h>

#include <algorithm>
#include <utility>

#include "inspector/cpython/runtime/gil_wait.h"
#include "inspector/cpython/stacks/thread_names.h"
#include "profiler/sampling/sampled_process.h"

namespace hangdbg {

std::string SampledProcess::reason_now(const Thread& thread,
                                       const TaskSyscall& call) const {
  if (call.number != SYS_futex) {
    return call_reason(pid(), call);
  }
  const auto gil =
      read_gil(process_.memory, process_.python, TaskIds(std::vector<int>()),
               thread.python.interpreter);
  if (!gil || !gil->enabled || !is_wait_for_gil(process_.memory, *gil, call)) {
    return call_reason(pid(), call);
  }
  const auto holder = std::ranges::find_if(threads_, [&](const Thread& one) {
    return gil->locked && one.python.state == gil->holder;
  });
  return holder == threads_.end() || holder->index == thread.index
             ? "waits for the GIL"
             : "waits for the GIL, held by " +
                   thread_words(pid(), *holder->python.tid, holder->name);
}

void SampledProcess::begin_sleep(Thread& thread,
                                 std::string reason,
                                 const SampleSink& sink) const {
  thread.where = thread.node;
  thread.waiting.clear();
  thread.tasks_seen = false;
  thread.reason.clear();
  if (!options_.waits || (thread.node == Profile::kRoot && !thread.unnamed)) {
    return;
  }
  thread.reason_told = reason.starts_with("waits for");
  thread.reason = std::move(reason);
  thread.slept_from = sink.at;
  thread.slept_weight = 0;
  if (thread.unnamed) {
    return;  // what stands above the reason is not known yet
  }
  const std::lock_guard lock(sink.mutex);
  thread.where = sink.profile.child(
      thread.node,
      {.kind = ProfilePlace::Kind::Wait, .function = thread.reason});
}

// The first one that is told holds for all of the sleep; a later one, as the
// owner of a lock may change, from then on.
void SampledProcess::take_reason(Thread& thread, const SampleSink& sink) {
  if (thread.reason.empty()) {
    return;
  }
  auto told = options_.waits->of(*thread.python.tid, *thread.asleep);
  if (!told && !thread.reason_told) {
    options_.waits->want(pid());
  }
  if (!told || *told == thread.reason) {
    thread.reason_told |= told.has_value();
    return;
  }
  thread.reason = *std::move(told);
  if (thread.unnamed) {
    if (!std::exchange(thread.reason_told, true)) {
      native_->tell_wait(*thread.unnamed, thread.reason);
    }
    return;
  }
  const std::lock_guard lock(sink.mutex);
  const std::uint32_t before = thread.where;
  thread.where = sink.profile.child(
      thread.node,
      {.kind = ProfilePlace::Kind::Wait, .function = thread.reason});
  if (!std::exchange(thread.reason_told, true) && thread.slept_weight > 0) {
    sink.profile.move(thread.index, before, thread.where, thread.slept_from,
                      thread.slept_weight);
  }
}

}  // namespace hangdbg
