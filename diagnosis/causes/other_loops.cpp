// Event loops that are not those of asyncio: what the tasks of Trio, and the
// greenlets of gevent and eventlet, wait for.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/event_loop.h"
#include "diagnosis/waits/hub_greenlets.h"
#include "diagnosis/waits/waits_inside.h"
#include "inspector/cpython/async/trio_tasks.h"

namespace hangdbg::causes {
namespace {

// Its tasks wait for each other alone: there is no timer, no watched descriptor
// that others can write to, and no other thread.
bool nobody_is_left(const ProcessSnapshot& of,
                    const ThreadSnapshot& thread,
                    const Cause& cause) {
  return cause.id == CauseId::Condition && cause.blocked_by.empty() &&
         cause.timeout_scale == 1 && !thread.ran && !of.handles_signals() &&
         of.python_threads().size() == 1 && !runs_beside(of, thread) &&
         !hears_from_others(of);
}

void tell_nobody_left(const std::vector<AsyncioTask>& tasks, Cause& cause) {
  constexpr std::size_t kMostTold = 4;
  cause.id = CauseId::FutureUnset;
  cause.progress = Progress::Stuck;
  cause.confidence = Confidence::Likely;
  cause.summary = fmt::format(
      "runs an event loop whose {} for what nobody is left to do",
      tasks.size() == 1 ? std::string("task waits")
                        : fmt::format("{} tasks wait", tasks.size()));
  cause.evidence.clear();
  for (const AsyncioTask& task : tasks) {
    if (cause.evidence.size() < kMostTold) {
      cause.evidence.push_back(task_text(task));
    }
  }
  cause.evidence.push_back(
      "the loop waits for no time and for no other descriptor than its own, "
      "and no other thread of Python is here");
}

// "runs an event loop (Trio) whose task ..."
void tell_kind(std::string_view kind, Cause& cause) {
  cause.of_tasks = true;
  constexpr std::string_view kLoop = "an event loop";
  if (const auto at = cause.summary.find(kLoop); at != std::string::npos) {
    cause.summary.insert(at + kLoop.size(), fmt::format(" ({})", kind));
  }
}

}  // namespace

Found trio(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  constexpr std::size_t kDepth = 4;
  const PythonFrame* const run =
      of.is_python() && thread.wait.state == 'S'
          ? thread.find("run", "/trio/_core/_run.py", kDepth)
          : nullptr;
  if (run == nullptr || thread.frames().front().function != "get_events") {
    return std::nullopt;
  }
  PythonStackReader stacks(of.process().memory, of.process().python);
  const auto all = read_trio_tasks(of.objects(), stacks, *run);
  if (!all) {
    return std::nullopt;
  }
  const auto main =
      std::ranges::find(all->tasks, all->main, &AsyncioTask::address);
  auto cause = loop_of_tasks(of, thread, all->tasks,
                             main == all->tasks.end() ? nullptr : &*main);
  if (cause) {
    if (nobody_is_left(of, thread, *cause)) {
      tell_nobody_left(all->tasks, *cause);
    }
    tell_kind("Trio", *cause);
  }
  return cause;
}

// No greenlet can be told to be the last that runs: the others are not looked
// for. If none is left at all, gevent itself raises an error.
Found greenlets(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto found = hub_greenlets(of, thread);
  auto cause =
      found ? loop_of_tasks(of, thread, found->tasks, &found->tasks.front())
            : std::nullopt;
  if (cause) {
    tell_kind(found->library, *cause);
  }
  return cause;
}

}  // namespace hangdbg::causes
