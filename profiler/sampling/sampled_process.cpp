#include "profiler/sampling/sampled_process.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/interpreters.h"
#include "inspector/cpython/stacks/thread_names.h"
#include "tracee/proc/task_ids.h"
#include "tracee/ptrace/brief_stop.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostSampledFrames = 5000;
constexpr int kEagerLooks = 100;  // at the list
// It may have no CPU; as long as it does not run, it is not held up.
constexpr auto kSampleTimeout = std::chrono::milliseconds(100);
// A look that takes longer had to wait for a CPU, whatever the thread was at.
constexpr auto kLongestLook = std::chrono::microseconds(300);

bool same_place(const FrameChain& a, const FrameChain& b) {
  return std::ranges::equal(a.frames, b.frames,
                            [](const RawFrame& x, const RawFrame& y) {
                              return x.address == y.address &&
                                     x.code == y.code &&
                                     x.position == y.position &&
                                     x.bytecode == y.bytecode;
                            }) &&
         a.codes == b.codes;
}

}  // namespace

SampledProcess::SampledProcess(PythonProcess process,
                               std::string label,
                               const SamplingOptions& options)
    : process_(std::move(process)),
      label_(std::move(label)),
      options_(options),
      stacks_(process_.memory, process_.python) {
  if (options_.native) {
    native_.emplace(process_);
  }
  if (options_.tasks) {
    tasks_.emplace(process_, stacks_);
  }
}

Result<SampledProcess::Outcome> SampledProcess::sample(const SampleSink& sink) {
  const auto newest = newest_threads();
  const bool changed = !newest || *newest != newest_;
  if (changed) {
    nameless_looks_ = 0;
  }
  if (changed || stale_ || awaits_number()) {
    TRY(list_threads(sink));
  }
  Outcome outcome;
  for (Thread& thread : threads_) {
    const Read how = outcome.stuck ? Read::Missed : read(thread, sink, outcome);
    if (how == Read::Gone) {
      stale_ = true;
      continue;
    }
    ++outcome.due;
    outcome.stuck |= how == Read::Stuck;
    if (how != Read::Blocked && how != Read::Stopped) {
      thread.asleep.reset();
      thread.waited = 0;
      stale_ = true;
      continue;
    }
    ++outcome.kept;
    if (options_.tallies) {
      count(thread, how, sink);
    }
    thread.counts =
        options_.gil ? thread.has_gil : options_.idle || how == Read::Stopped;
    if (how == Read::Blocked) {
      take_reason(thread, sink);
      see_waiting_tasks(thread, sink);
    }
    add(thread, sink.at, sink.weight, sink);
  }
  if (native_ && native_->is_due()) {
    name_native(sink);
  }
  return outcome;
}

// A thread state that is made becomes the first of its interpreter's list. So
// where that is the same, and no thread has ended, nothing is new.
Result<std::vector<Address>> SampledProcess::newest_threads() const {
  std::vector<Address> newest;
  for (const Interpreter& one :
       TRY(read_interpreters(process_.memory, process_.python))) {
    newest.push_back(TRY(process_.memory.read_address(
        one.state + process_.python.layout.interpreter_threads_head)));
  }
  return newest;
}

// A thread state is in the list before its thread has begun and said which it
// is. One that was left over by a fork never does: it is read less and less.
bool SampledProcess::awaits_number() {
  return has_nameless_ && (++nameless_looks_ < kEagerLooks ||
                           nameless_looks_ % kEagerLooks == 0);
}

Status SampledProcess::list_threads(const SampleSink& sink) {
  const auto newest = newest_threads();
  const auto tasks = TRY(TaskIds::read(pid()));
  const auto found = TRY(python_threads(process_.memory, process_.python, tasks,
                                        /*places=*/false));
  std::vector<Thread> threads;
  has_nameless_ = false;
  for (const PythonThread& python : found) {
    if (!python.tid) {
      has_nameless_ = true;
      continue;
    }
    const auto known = std::ranges::find_if(threads_, [&](const Thread& one) {
      return one.python.state == python.state && one.python.tid == python.tid &&
             one.python.ident == python.ident;
    });
    if (known != threads_.end()) {
      threads.push_back(std::move(*known));
      known->python.state = {};  // taken
      continue;
    }
    const std::lock_guard lock(sink.mutex);
    const auto index = sink.profile.add_thread(
        {.pid = pid(),
         .tid = *python.tid,
         .process = label_,
         .name = python.tid == pid() ? "MainThread" : ""});
    threads.push_back({.python = python,
                       .task = KeptTask(pid(), *python.tid),
                       .index = index});
  }
  if (options_.tallies) {
    const std::lock_guard lock(sink.mutex);
    for (const Thread& one : threads_) {
      if (one.python.state) {
        sink.profile.tally(one.index).ended = true;
      }
    }
  }
  threads_ = std::move(threads);
  if (native_) {
    native_->renew_maps();
  }
  newest_ = newest.value_or(std::vector<Address>());
  stale_ = !newest;
  name_threads(sink);
  return {};
}

// As threading has named them. Read only where they are shown.
void SampledProcess::name_threads(const SampleSink& sink) {
  if (!options_.threads && !options_.waits) {
    return;
  }
  const auto objects =
      ObjectReader::open_values(process_.memory, process_.python);
  if (!objects) {
    return;
  }
  const ThreadNames names = read_thread_names(*objects, process_.python);
  for (Thread& thread : threads_) {
    const auto name =
        names.find({thread.python.interpreter, thread.python.ident});
    if (name != names.end()) {
      thread.name = name->second;
      const std::lock_guard lock(sink.mutex);
      sink.profile.name_thread(thread.index, name->second);
    }
  }
}

SampledProcess::Read SampledProcess::read(Thread& thread,
                                          const SampleSink& sink,
                                          Outcome& outcome) {
  const auto runs = thread.task.runs();
  if (!runs) {
    return Read::Gone;
  }
  thread.cpu_ns = runs->nanoseconds;
  cover(thread, *runs, sink, outcome);
  if (thread.asleep == *runs) {
    return Read::Blocked;
  }
  thread.asleep.reset();
  const auto call = thread.task.call();
  if (!call) {
    return Read::Gone;
  }
  if (!call->running) {
    auto found = words_before(thread);
    if (found && native_) {
      Registers registers;
      registers.raw.rip = call->pc.value;
      registers.raw.rsp = call->sp.value;
      if (auto copied = native_->copy(registers); !copied) {
        found = std::unexpected(std::move(copied).error());
      }
    }
    auto reason = options_.waits ? reason_now(thread, *call) : std::string();
    const auto after = thread.task.runs();
    if (!after) {
      return Read::Gone;
    }
    if (found && *after == *runs) {
      if (!keep(thread, *std::move(found), sink)) {
        return Read::Missed;
      }
      thread.asleep = *runs;
      begin_sleep(thread, std::move(reason), sink);
      return Read::Blocked;
    }
  }
  return read_stopped(thread, sink, outcome);
}

// What was due since the last time, and is known to have been as then: of a
// thread that has slept since; of one that was told to stop, and ran no line of
// its program until it did.
void SampledProcess::cover(Thread& thread,
                           const SchedStats& runs,
                           const SampleSink& sink,
                           Outcome& outcome) {
  const std::uint64_t known = thread.asleep == runs
                                  ? sink.missed
                                  : std::min(sink.missed, thread.waited);
  thread.waited = 0;
  if (known == 0) {
    return;
  }
  outcome.covered += known;
  add(thread, sink.at - sink.missed * sink.usual_weight,
      known * sink.usual_weight, sink);
}

// Nearly all of its frames will be the same once it is stopped: they are
// fetched at once then.
SampledProcess::Read SampledProcess::read_stopped(Thread& thread,
                                                  const SampleSink& sink,
                                                  Outcome& outcome) {
  const auto begun = Schedule::Clock::now();
  const auto expected = words_before(thread);
  wait_as_long_as_others(begun);
  Words found;
  const auto told = Schedule::Clock::now();
  const auto stopped = while_stopped(
      *thread.python.tid, kSampleTimeout,
      [&](const TracedThread& still) -> Status {
        found = TRY(words(thread, expected ? &expected->chain : nullptr));
        return native_ ? native_->copy(TRY(still.registers())) : Status();
      });
  if (!stopped) {
    log::debug(log::Area::Inspector, "thread {}: {}", *thread.python.tid,
               stopped.error().text());
    switch (stopped.error().id) {
      case ErrorId::NoSuchThread:
      case ErrorId::TargetDied:
        return Read::Gone;
      case ErrorId::TimedOut:
        return Read::Stuck;
      default:
        return Read::Missed;
    }
  }
  outcome.stopped += *stopped;
  const auto waited = [&](Schedule::Clock::time_point until) {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>((until - sink.due) / sink.period, 0));
  };
  thread.waited = waited(Schedule::Clock::now()) - waited(told);
  if (const Status kept = keep(thread, std::move(found), sink); !kept) {
    log::debug(log::Area::Inspector, "thread {}: {}", *thread.python.tid,
               kept.error().text());
    return Read::Missed;
  }
  thread.where = thread.node;
  thread.waiting.clear();
  thread.reason.clear();
  return Read::Stopped;
}

// How long the look takes depends on where the thread is, and so would the
// moment of its stop: some places would be met too often, others too seldom. So
// each takes as long as the longest of late.
void SampledProcess::wait_as_long_as_others(Schedule::Clock::time_point begun) {
  const auto took = Schedule::Clock::now() - begun;
  if (took > kLongestLook) {
    return;
  }
  longest_look_ = std::max(took, longest_look_ - longest_look_ / 512);
  while (Schedule::Clock::now() < begun + longest_look_) {
  }
}

// Errors: Unreadable, also where the thread state has become another thread's.
Result<SampledProcess::Words> SampledProcess::words(
    const Thread& thread,
    const FrameChain* expected) const {
  const CPythonLayout& at = process_.python.layout;
  const Address state = thread.python.state;
  if (TRY(process_.memory.read_value<std::uint64_t>(state + at.thread_ident)) !=
      thread.python.ident) {
    return fail(ErrorId::Unreadable,
                fmt::format("no thread state at {:#x}", state.value));
  }
  Words words{.chain = TRY(read_frame_chain(process_.memory, at, state,
                                            kMostSampledFrames, expected))};
  if (options_.gil || options_.tallies) {
    const auto gil =
        TRY(read_gil(process_.memory, process_.python,
                     TaskIds(std::vector<int>()), thread.python.interpreter));
    words.has_gil = gil.locked && gil.holder == state;
  }
  if (tasks_) {
    words.part = tasks_->find(words.chain);
  }
  return words;
}

Result<SampledProcess::Words> SampledProcess::words_before(
    const Thread& thread) {
  const FrameChain* const last = thread.chain ? &*thread.chain : nullptr;
  Words found = TRY(words(thread, last));
  if (tasks_ && !found.part.root &&
      tasks_->learn(found.chain, thread.python, python_threads_now())) {
    return words(thread, &found.chain);
  }
  return found;
}

Status SampledProcess::keep(Thread& thread,
                            Words words,
                            const SampleSink& sink) {
  thread.has_gil = words.has_gil;
  if (!native_ && thread.chain && thread.part == words.part &&
      same_place(*thread.chain, words.chain)) {
    return {};
  }
  thread.chain.reset();
  thread.unnamed.reset();
  auto stack = TRY(stacks_.name(words.chain));
  thread.chain = std::move(words.chain);
  thread.part = words.part;
  if (native_ && !stack.frames.empty()) {
    thread.unnamed =
        native_->take(thread.index, std::move(stack), outside_of(thread));
    return {};
  }
  const std::lock_guard lock(sink.mutex);
  thread.node = node_of(thread, stack, sink.profile);
  return {};
}

void SampledProcess::add(Thread& thread,
                         std::uint64_t at,
                         std::uint64_t weight,
                         const SampleSink& sink) {
  if (!thread.counts) {
    return;
  }
  if (thread.unnamed && thread.waiting.empty()) {
    native_->add(*thread.unnamed, at, weight, thread.reason);
    return;
  }
  const std::lock_guard lock(sink.mutex);
  for (const TaskRow& row : thread.waiting) {
    sink.profile.add(row.index, row.node, at, weight);
  }
  if (thread.waiting.empty() && thread.node != Profile::kRoot) {
    sink.profile.add(thread.index, thread.where, at, weight);
    thread.slept_weight += weight;
  }
}

void SampledProcess::count(const Thread& thread,
                           Read how,
                           const SampleSink& sink) const {
  const std::lock_guard lock(sink.mutex);
  ThreadTally& tally = sink.profile.tally(thread.index);
  tally.samples += sink.weight;
  tally.runs = how == Read::Stopped;
  tally.ran += tally.runs ? sink.weight : 0;
  tally.held_gil += thread.has_gil ? sink.weight : 0;
  tally.cpu_ns = thread.cpu_ns;
  tally.node = thread.node;
}

}  // namespace hangdbg
