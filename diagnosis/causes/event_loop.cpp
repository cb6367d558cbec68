#include "diagnosis/causes/event_loop.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>

#include "base/text.h"
#include "diagnosis/causes/pools.h"
#include "diagnosis/waits/awaited_files.h"
#include "diagnosis/waits/library_waits.h"
#include "diagnosis/waits/waits_inside.h"
#include "inspector/cpython/locks/stdlib_blocking_frames.h"
#include "inspector/cpython/objects/repr.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

constexpr std::string_view kBaseEvents = "/asyncio/base_events.py";

// A thread that calls this is about to wake the loop.
bool is_waking(const ThreadSnapshot& thread) {
  return thread.find("call_soon_threadsafe", kBaseEvents) != nullptr;
}

// No other thread of Python has run since it was sampled, and none is about to
// wake the loop.
bool others_rest(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto threads = of.python_threads();
  return std::ranges::all_of(threads, [&](const ThreadSnapshot* one) {
    return one == &thread || (!is_waking(*one) && still_waits(*one));
  });
}

// No other thread of Python will wake the loop, even for something else.
bool none_may_wake(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto threads = of.python_threads();
  return std::ranges::all_of(threads, [&](const ThreadSnapshot* one) {
    return one == &thread || is_worker_loop(*one) || waits_inside(of, *one);
  });
}

// The task that the callback resumes: the callback is bound to it.
const AsyncioTask* task_of(const ProcessSnapshot& of,
                           Address callback,
                           const AsyncioTasks& all) {
  const ObjectReader& objects = of.objects();
  const auto type = objects.type_of(callback);
  if (!type) {
    return nullptr;
  }
  const auto self = (*type)->kind == Kind::Builtin
                        ? objects.pointer(callback + objects.at().builtin_self)
                    : (*type)->kind == Kind::Method
                        ? objects.pointer(callback + objects.at().method_self)
                        : std::unexpected(Error());
  const auto found =
      self ? std::ranges::find(all.tasks, *self, &AsyncioTask::address)
           : all.tasks.end();
  return found == all.tasks.end() ? nullptr : &*found;
}

// asyncio.futures._chain_future() makes a future of a loop one for a
// concurrent.futures.Future, with a callback of its own as the first. Source:
// struct FutureObj (Modules/_asynciomodule.c): the loop, the first callback.
bool is_chained(const ObjectReader& objects, Address future) {
  objects.allow_reads();
  const auto callback =
      objects.pointer(future + (objects.at().object_size + 8));
  const auto type = callback && *callback ? objects.type_of(*callback)
                                          : std::unexpected(Error());
  return type && (*type)->kind == Kind::Function &&
         repr(objects, *callback).find("_chain_future") != std::string::npos;
}

// The loop's own wakeup descriptor is a socket.
bool sleeps_for_ever(const AwaitedFiles& awaited) {
  return awaited.any && !awaited.with_time;
}

bool has_only_its_own(const AwaitedFiles& awaited) {
  return sleeps_for_ever(awaited) && awaited.files.size() <= 1;
}

// The end of a child and its output count, too.
bool has_only_children(const AwaitedFiles& awaited) {
  return sleeps_for_ever(awaited) &&
         std::ranges::count_if(awaited.files, [](const AwaitedFile& one) {
           return one.file.kind == FileKind::Socket;
         }) <= 1;
}

// The child whose end, or output up to its end, the task waits for.
std::optional<std::int64_t> awaited_child(const ProcessSnapshot& of,
                                          const AsyncioTask& task) {
  for (const PythonFrame& frame : task.stack.frames) {
    if (frame.function == "_wait" &&
        frame.file.ends_with("/asyncio/base_subprocess.py")) {
      return of.number(frame, "self._pid");
    }
    if (frame.function == "communicate" &&
        frame.file.ends_with("/asyncio/subprocess.py")) {
      return of.number(frame, "self._transport._pid");
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Cause> loop_behind_child(const ProcessSnapshot& of,
                                       const std::vector<AsyncioTask>& all) {
  for (const AsyncioTask& task : all) {
    const auto pid = awaited_child(of, task);
    if (!pid || of.system.snapshot(static_cast<int>(*pid)) == nullptr) {
      continue;
    }
    const int child = static_cast<int>(*pid);
    return Cause{
        .id = CauseId::Child,
        .progress = Progress::Blocked,
        .confidence = Confidence::Certain,
        .summary = fmt::format("runs an event loop whose task waits for the "
                               "end of its child, {}",
                               process_text(child)),
        .evidence = {task_text(task)},
        .next = {{fmt::format("hangdbg diagnose {}", child),
                  "why that one does not end"}},
        .blocked_by = {{child, child}}};
  }
  return std::nullopt;
}

std::optional<int> ended_child_of_loop(const ProcessSnapshot& of,
                                       const std::vector<AsyncioTask>& all) {
  for (const AsyncioTask& task : all) {
    if (const auto pid = awaited_child(of, task)) {
      const ProcessSnapshot* const child =
          of.system.snapshot(static_cast<int>(*pid));
      if (child == nullptr || child->status.state == 'Z') {
        return static_cast<int>(*pid);
      }
    }
  }
  return std::nullopt;
}

std::optional<Cause> loop_behind_pool(const ProcessSnapshot& of,
                                      const std::vector<AsyncioTask>& all) {
  std::vector<std::string> waiting;
  for (const AsyncioTask& task : all) {
    if (task.waiter && is_chained(of.objects(), task.waiter)) {
      waiting.push_back(task_text(task));
    }
  }
  if (waiting.empty()) {
    return std::nullopt;
  }
  Cause cause{.id = CauseId::Future,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely,
              .any_unblocks = true};
  for (const ThreadSnapshot* const one : of.python_threads()) {
    if (one->find("run", "/concurrent/futures/thread.py") != nullptr) {
      cause.blocked_by.push_back(one->id);
    }
  }
  if (cause.blocked_by.empty()) {
    cause.blocked_by =
        pool_workers(of, "_process_worker", "/concurrent/futures/process.py")
            .busy;
  }
  if (cause.blocked_by.empty()) {
    // Work that a thread has not begun yet, or a result that is on its way.
    cause.confidence = Confidence::Possible;
    cause.summary =
        "runs an event loop that waits for a Future of concurrent.futures, "
        "which no worker of a pool is at";
    cause.evidence = std::move(waiting);
    return cause;
  }
  const std::size_t workers = cause.blocked_by.size();
  cause.summary = fmt::format(
      "runs an event loop that waits for what {} a pool {} at",
      workers == 1 ? "a worker of" : fmt::format("{} workers of", workers),
      workers == 1 ? "is" : "are");
  cause.evidence.push_back(fmt::format(
      "of {} {} {} for an executor", all.size(),
      all.size() == 1 ? "task" : "tasks",
      waiting.size() == 1 ? "1 waits"
                          : fmt::format("{} wait", waiting.size())));
  constexpr std::size_t kMostTold = 4;
  waiting.resize(std::min(waiting.size(), kMostTold));
  std::ranges::move(waiting, std::back_inserter(cause.evidence));
  return cause;
}

std::string task_text(const AsyncioTask& task) {
  std::string text =
      fmt::format("task {}", task.name.empty() ? "?" : printable(task.name));
  const PythonFrame* called = nullptr;
  for (const PythonFrame& frame : task.stack.frames) {
    if (!is_library(frame.file)) {
      return text + (called == nullptr
                         ? " at " + place_of(frame)
                         : fmt::format(" in {}, called at {}",
                                       place_of(*called), place_of(frame)));
    }
    called = &frame;
  }
  return called == nullptr ? text : text + " in " + place_of(*called);
}

std::optional<Cause> loop_not_woken(const ProcessSnapshot& of,
                                    const ThreadSnapshot& thread,
                                    const AsyncioTasks& all) {
  const PythonFrame* const loop = thread.find("_run_once", kBaseEvents);
  const AwaitedFiles awaited = awaited_files(of, thread);
  if (loop == nullptr || thread.ran || !sleeps_for_ever(awaited)) {
    return std::nullopt;
  }
  const bool stops = of.shown(*loop, "self._stopping") == "True";
  const auto first = of.object(*loop, "self._ready[0]");
  if (!stops && !first) {
    return std::nullopt;
  }
  // A thread between the two steps of waking the loop finishes soon.
  constexpr auto kSoon = std::chrono::milliseconds(50);
  std::this_thread::sleep_for(kSoon);
  const bool same = of.object(*loop, "self._ready[0]") == first &&
                    (!stops || of.shown(*loop, "self._stopping") == "True");
  if (!same || !still_waits(thread)) {
    return std::nullopt;
  }
  const bool only_own = has_only_its_own(awaited);
  const bool rest = others_rest(of, thread);
  Cause cause{.id = CauseId::LoopNotWoken,
              .progress = only_own && none_may_wake(of, thread)
                              ? Progress::Stuck
                              : Progress::Blocked,
              .confidence = rest ? Confidence::Certain : Confidence::Likely};
  const auto callback =
      first ? of.object(*loop, "self._ready[0]._callback") : std::nullopt;
  const AsyncioTask* const task =
      callback ? task_of(of, *callback, all) : nullptr;
  cause.summary =
      task != nullptr ? fmt::format(
                            "runs an event loop that nobody has woken: what {} "
                            "awaits is done, and the loop sleeps",
                            task_text(*task))
      : first ? std::string(
                    "runs an event loop that nobody has woken: a callback is "
                    "ready, and the loop sleeps")
              : std::string(
                    "runs an event loop that nobody has woken: stop() was "
                    "called, and the loop sleeps");
  cause.evidence.push_back(fmt::format("{} without a limit, at {}",
                                       thread.wait.syscall, thread.place()));
  if (callback) {
    cause.evidence.push_back(fmt::format(
        "ready to be called: {}", of.shown(*loop, "self._ready[0]._callback")));
  }
  cause.evidence.push_back(
      only_own ? "it watches no other descriptor than the one by which others "
                 "wake it"
               : fmt::format("it watches {} descriptors: any of them wakes it",
                             awaited.files.size()));
  if (!rest) {
    cause.evidence.push_back("other threads have run meanwhile");
  }
  cause.next.push_back({fmt::format("hangdbg dump {} --tasks", of.pid),
                        "where each task waits; call set_result(), set(), "
                        "put_nowait() or stop() "
                        "by loop.call_soon_threadsafe() from another thread"});
  return cause;
}

std::optional<Cause> loop_behind_other(const ProcessSnapshot& of,
                                       const ThreadSnapshot& thread,
                                       const AsyncioTasks& all) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  if (thread.ran || !has_only_children(awaited)) {
    return std::nullopt;
  }
  if (auto child = loop_behind_child(of, all.tasks)) {
    return child;
  }
  return has_only_its_own(awaited) ? loop_behind_pool(of, all.tasks)
                                   : std::nullopt;
}

}  // namespace hangdbg
