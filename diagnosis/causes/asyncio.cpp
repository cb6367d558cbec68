// An event loop of asyncio: blocked by what should not wait, or with tasks that
// nothing can wake.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/event_loop.h"
#include "diagnosis/causes/rules.h"
#include "diagnosis/waits/awaited_files.h"
#include "diagnosis/waits/library_waits.h"
#include "diagnosis/waits/waits_inside.h"
#include "inspector/cpython/locks/stdlib_blocking_frames.h"

namespace hangdbg::causes {
namespace {

// Tasks that form a deadlock cycle; empty if there are none.
std::vector<const AsyncioTask*> task_cycle(const AsyncioTasks& all) {
  std::map<Address, const AsyncioTask*> by_address;
  for (const AsyncioTask& task : all.tasks) {
    by_address[task.address] = &task;
  }
  for (const AsyncioTask& start : all.tasks) {
    std::vector<const AsyncioTask*> path;
    const AsyncioTask* at = &start;
    while (at != nullptr && std::ranges::find(path, at) == path.end()) {
      path.push_back(at);
      const auto next = at->waits_for.empty()
                            ? by_address.end()
                            : by_address.find(at->waits_for.front());
      at = next == by_address.end() ? nullptr : next->second;
    }
    if (at != nullptr) {
      return {std::ranges::find(path, at), path.end()};
    }
  }
  return {};
}

// The loop has no timer, and watches no descriptor but its own wakeup
// descriptor.
bool only_itself_can_wake(const ProcessSnapshot& of,
                          const ThreadSnapshot& thread) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  return awaited.any && !awaited.with_time && awaited.files.size() <= 1 &&
         !runs_beside(of, thread) &&
         std::ranges::all_of(of.python_threads(),
                             [&](const ThreadSnapshot* one) {
                               return one == &thread ||
                                      (is_worker_loop(*one) && !one->ran &&
                                       one->wait.state != 'R');
                             }) &&
         !hears_from_others(of);
}

// The task that the loop runs until it is done; null if the loop runs for ever.
const AsyncioTask* main_task(const ProcessSnapshot& of,
                             const ThreadSnapshot& thread,
                             const AsyncioTasks& all) {
  const PythonFrame* const runs =
      thread.find("run_until_complete", "/asyncio/base_events.py");
  const auto future =
      runs != nullptr ? of.object(*runs, "future") : std::nullopt;
  const auto found =
      future ? std::ranges::find(all.tasks, *future, &AsyncioTask::address)
             : all.tasks.end();
  return found == all.tasks.end() ? nullptr : &*found;
}

// Whether asyncio.run() is shutting down.
bool ends_loop(const ThreadSnapshot& thread) {
  return thread.find("_cancel_all_tasks", "/asyncio/runners.py") != nullptr ||
         thread.find("close", "/asyncio/runners.py") != nullptr;
}

// The loop runs until a Future is done that is no task, or whose coroutine
// cannot be read: a closed asynchronous generator's.
bool runs_until_unread_is_done(const ProcessSnapshot& of,
                               const ThreadSnapshot& thread,
                               const AsyncioTasks& all) {
  return all.tasks.empty() && !of.handles_signals() &&
         thread.find("run_until_complete", "/asyncio/base_events.py") !=
             nullptr;
}

// A signal handler may set what the main task waits for.
bool waits_for_handler(const ProcessSnapshot& of, const AsyncioTask* main) {
  if (main == nullptr || main->stack.frames.empty() || !of.handles_signals()) {
    return false;
  }
  const PythonFrame& inner = main->stack.frames.front();
  const bool at_event = inner.function == "wait" &&
                        inner.qualname != "Condition.wait" &&
                        inner.file.ends_with("/asyncio/locks.py");
  return at_event || !is_library(inner.file);
}

// A task that polls through a thread, as filelock's does, waits for that thread
// now and then: it is sampled a few more times.
Found at_tasks(const ProcessSnapshot& of,
               const ThreadSnapshot& thread,
               const AsyncioTasks& all) {
  constexpr int kLooks = 3;
  constexpr auto kApart = std::chrono::milliseconds(15);
  auto cause = loop_of_tasks(of, thread, all.tasks, main_task(of, thread, all));
  for (int i = 0;
       i < kLooks && thread.ran && cause && cause->id == CauseId::Condition &&
       !of.system.deadline().expired();
       ++i) {
    std::this_thread::sleep_for(kApart);
    const AsyncioTasks now = of.asyncio_tasks();
    auto later =
        loop_of_tasks(of, thread, now.tasks, main_task(of, thread, now));
    if (later && later->id != CauseId::Condition) {
      cause = std::move(later);
    }
  }
  return cause;
}

Found waits_for_task(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const AsyncioTasks all = of.asyncio_tasks();
  if (auto asleep = loop_not_woken(of, thread, all)) {
    return asleep;
  }
  const auto around = task_cycle(all);
  Cause cause{.id = CauseId::AwaitCycle,
              .progress = Progress::Stuck,
              .confidence = Confidence::Certain};
  if (!around.empty()) {
    cause.summary = fmt::format(
        "runs an event loop in which {} tasks wait for each other in a "
        "circle",
        around.size());
    for (const AsyncioTask* const task : around) {
      cause.evidence.push_back(task_text(*task) + " waits for the next");
    }
  } else if (auto elsewhere = loop_behind_other(of, thread, all)) {
    return elsewhere;
  } else if (const AsyncioTask* const main = main_task(of, thread, all);
             waits_for_handler(of, main) && only_itself_can_wake(of, thread)) {
    cause.id = CauseId::Idle;
    cause.progress = Progress::Idle;
    cause.confidence = Confidence::Likely;
    cause.summary =
        "runs an event loop that waits for a Future, which a handler of a "
        "signal could set";
    cause.evidence.push_back(task_text(*main));
  } else if ((!all.tasks.empty() ||
              runs_until_unread_is_done(of, thread, all)) &&
             only_itself_can_wake(of, thread)) {
    cause.id = CauseId::FutureUnset;
    cause.confidence = Confidence::Likely;
    cause.summary =
        all.tasks.empty()
            ? fmt::format(
                  "{}runs an event loop until a Future is done, and nobody is "
                  "left to do it",
                  ends_loop(thread) ? "has come to the end of asyncio.run(), "
                                      "and "
                                    : "")
            : fmt::format(
                  "runs an event loop whose {} {} for what nobody is left to "
                  "do",
                  all.tasks.size(),
                  all.tasks.size() == 1 ? "task waits" : "tasks wait");
    for (const AsyncioTask& task : all.tasks) {
      cause.evidence.push_back(
          fmt::format("{} waits for a {}", task_text(task),
                      task.future.empty() ? "future" : printable(task.future)));
      if (cause.evidence.size() == 5) {
        break;
      }
    }
    cause.evidence.push_back(
        "the loop waits without a limit, for no other descriptor than "
        "its own, "
        "and no other thread is here that is at work");
  } else {
    return at_tasks(of, thread, all);
  }
  cause.next.push_back({fmt::format("hangdbg dump {} --tasks", of.pid),
                        "where each task waits"});
  return cause;
}

// The callback or the task's own function that the loop has called.
const PythonFrame* called_by_loop(const ThreadSnapshot& thread) {
  const PythonFrame* last = nullptr;
  for (const PythonFrame& frame : thread.frames()) {
    if (frame.file.ends_with("/asyncio/events.py") ||
        frame.file.ends_with("/asyncio/base_events.py")) {
      break;
    }
    last = &frame;
  }
  return last;
}

}  // namespace

Found asyncio(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (!of.is_python() ||
      thread.find("_run_once", "/asyncio/base_events.py") == nullptr) {
    return std::nullopt;
  }
  if (thread.frames().front().file.ends_with("/selectors.py")) {
    return waits_for_task(of, thread);
  }
  Cause inner = cause_by_later_rules(asyncio, of, thread);
  const PythonFrame* const callback = called_by_loop(thread);
  if (inner.progress == Progress::Running || callback == nullptr) {
    return inner;
  }
  inner.evidence.insert(
      inner.evidence.begin(),
      fmt::format(
          "it is called from {}, inside the event loop: all other tasks "
          "of it wait",
          place_of(*callback)));
  if (inner.progress == Progress::Idle) {
    // a wait that is fine elsewhere blocks the loop here
    inner.progress = Progress::Blocked;
    if (thread.ran) {  // a moment ago
      inner.confidence = Confidence::Possible;
    }
  }
  inner.id = CauseId::AsyncioBlocked;
  inner.timeout_scale = 1;  // however long another program may take for it
  inner.summary = fmt::format("blocks its event loop: {}", inner.summary);
  return inner;
}

}  // namespace hangdbg::causes
