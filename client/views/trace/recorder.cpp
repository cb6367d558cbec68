#include "client/views/trace/recorder.h"

#include <sys/syscall.h>

#include <utility>

namespace hangdbg {
namespace {

constexpr auto kWaits = std::chrono::milliseconds(300);

}  // namespace

void Recorder::add_python(int pid, std::unique_ptr<PythonPlaces> places) {
  const std::lock_guard lock(mutex_);
  Process& one = process(pid);
  one.python = std::move(places);
  one.python_tried = true;
}

// The tracer may be held up by a memory that cannot be read just now: main is
// not to be held up with it.
void Recorder::tell_waiting() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || !view_.wants_words()) {
    return;
  }
  const auto now = Clock::now();
  for (auto& [tid, call] : calls_) {
    if (!call.record.told_before && now - call.since >= kWaits) {
      tell_waiting(call, CallRecord::State::Waiting);
    }
  }
}

void Recorder::tell_rest() {
  const std::lock_guard lock(mutex_);
  for (auto& [tid, call] : calls_) {
    if (!call.record.told_before) {
      tell_waiting(call, CallRecord::State::Waiting);
    }
  }
}

bool Recorder::entered(const TraceThread& thread, const TracedCall& call) {
  if (!options_.calls.contains(call.number)) {
    // A descriptor that is closed unseen is none any more.
    const std::lock_guard lock(mutex_);
    if (const auto known = processes_.find(thread.pid);
        known != processes_.end()) {
      known->second->descriptors.forget(call);
    }
    return false;
  }
  const std::lock_guard lock(mutex_);
  Call& under_way = calls_[thread.tid];
  CallRecord& record = under_way.record;
  record.thread = thread;
  record.state = CallRecord::State::Over;
  record.call = call;
  record.arguments.clear();
  record.told_before = false;
  record.python.clear();
  if (view_.wants_words()) {
    Process& one = process(thread.pid);
    tell_at_entry(place(one), call, record.arguments);
    one.descriptors.forget(call);
    if (options_.python_frames > 0) {
      find_python(thread.tid, one, record);
    }
    record.at = std::chrono::system_clock::now();
  }
  under_way.since = Clock::now();
  return true;
}

void Recorder::left(const TraceThread& thread, const TracedResult& result) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(thread.tid);
  if (found == calls_.end()) {
    return;
  }
  CallRecord& record = found->second.record;
  record.result = result.value;
  record.took = result.took;
  if (view_.wants_words()) {
    Process& one = process(thread.pid);
    const CallPlace at = place(one);
    tell_at_exit(at, record.call, result.value, record.arguments);
    record.result_text = result_text(at, record.call, result.value);
    one.descriptors.forget(record.call);
  }
  tell(record);
  // Kept for its next call, with the memory that it has.
  found->second.since = Clock::time_point::max();
  record.told_before = true;
}

void Recorder::left_alone(const TraceThread& thread, const TaskSyscall& call) {
  const std::lock_guard lock(mutex_);
  if (!options_.calls.contains(call.number)) {
    return;
  }
  Call one{.record = {.thread = thread,
                      .call = {.number = call.number, .args = call.args},
                      .at = std::chrono::system_clock::now()}};
  one.since = Clock::now();
  Process& of = process(thread.pid);
  tell_at_entry(place(of), one.record.call, one.record.arguments);
  tell_waiting(one, CallRecord::State::Alone);
}

void Recorder::signalled(const TraceThread& thread, const siginfo_t& info) {
  const std::lock_guard lock(mutex_);
  view_.signal(thread, info);
}

void Recorder::stopped(int pid, int signal) {
  const std::lock_guard lock(mutex_);
  view_.stopped(pid, signal);
}

void Recorder::started(const TraceThread& thread, const TraceThread& parent) {
  const std::lock_guard lock(mutex_);
  view_.started(thread, parent);
}

void Recorder::executed(int pid, int former) {
  const std::lock_guard lock(mutex_);
  processes_.erase(pid);
  auto call = calls_.extract(former);
  std::erase_if(calls_, [pid](const auto& each) {
    return each.second.record.thread.pid == pid;
  });
  if (!call.empty()) {
    call.key() = pid;
    call.mapped().record.thread.tid = pid;
    calls_.insert(std::move(call));
  }
  view_.executed(pid);
}

void Recorder::ended(const TraceThread& thread, const TracedEnd& how) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(thread.tid);
  if (found != calls_.end()) {
    if (found->second.since != Clock::time_point::max()) {
      tell_waiting(found->second, CallRecord::State::Gone);
    }
    calls_.erase(found);
  }
  if (const auto one = processes_.find(thread.pid); one != processes_.end()) {
    if (one->second->python) {
      one->second->python->ended(thread.tid);
    }
    if (thread.pid == thread.tid) {
      processes_.erase(one);
    }
  }
  view_.ended(thread, how);
}

Recorder::Process& Recorder::process(int pid) {
  auto& one = processes_[pid];
  if (!one) {
    one = std::make_unique<Process>(pid);
  }
  return *one;
}

CallPlace Recorder::place(Process& process) const {
  return {process.memory, process.descriptors, options_.most_bytes};
}

// A child that was just forked is Python like its parent; what it becomes later
// is checked once.
void Recorder::find_python(int tid, Process& process, CallRecord& record) {
  if (!process.python_tried) {
    process.python_tried = true;
    if (auto places = PythonPlaces::open(record.thread.pid)) {
      process.python = *std::move(places);
    }
  }
  if (process.python) {
    record.python = process.python->of(tid, options_.python_frames);
  }
}

// Its result is not known, and what it fills in neither.
void Recorder::tell_waiting(Call& call, CallRecord::State state) {
  CallRecord waiting = call.record;
  if (view_.wants_words()) {
    tell_the_rest(waiting.call, waiting.arguments);
  }
  waiting.state = state;
  waiting.took = Clock::now() - call.since;
  tell(waiting);
  call.record.told_before = true;
}

void Recorder::tell(const CallRecord& record) {
  if (options_.count && told_ >= *options_.count) {
    return;
  }
  view_.call(record);
  if (record.state == CallRecord::State::Over && ++told_ == options_.count) {
    enough_();
  }
}

}  // namespace hangdbg
