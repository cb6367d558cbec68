// An event loop of Trio: what its tasks are at.
#include <algorithm>
#include <string>
#include <string_view>

#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/event_loop.h"
#include "inspector/cpython/async/trio_tasks.h"

namespace hangdbg::causes {

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
    cause->of_tasks = true;
    constexpr std::string_view kLoop = "an event loop";
    if (const auto at = cause->summary.find(kLoop); at != std::string::npos) {
      cause->summary.insert(at + kLoop.size(), " (Trio)");
    }
  }
  return cause;
}

}  // namespace hangdbg::causes
