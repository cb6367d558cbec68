// Waits inside the standard library for what another thread does: a Condition,
// an Event, a queue, a Future. None of them says who will do it.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "inspector/diagnosis/causes/causes.h"
#include "inspector/diagnosis/idle_loops.h"
#include "inspector/waiting_rooms.h"

namespace hangdbg::causes {
namespace {

// The outermost of the library's frames that are in each other: what the
// program has called.
const PythonFrame* called(const CaseThread& thread) {
  const PythonFrame* last = nullptr;
  for (const PythonFrame& frame : thread.frames()) {
    if (!is_waiting_room(frame.file)) {
      break;
    }
    last = &frame;
  }
  return last;
}

bool runs_work(const CaseThread& thread) {
  return thread.find("run", "/concurrent/futures/thread.py") != nullptr;
}

// Of a Future: the pool's threads, if all of them are at work.
std::vector<ThreadId> busy_workers(const Case& of) {
  std::vector<ThreadId> busy;
  for (const CaseThread* const one : of.python_threads()) {
    if (runs_work(*one)) {
      busy.push_back(one->id);
    } else if (is_idle_loop(*one)) {
      return {};
    }
  }
  return busy;
}

}  // namespace

Found condition(const Case& of, const CaseThread& thread) {
  if (!of.is_python() || thread.wait.syscall != "futex" ||
      thread.frames().empty()) {
    return std::nullopt;
  }
  const PythonFrame* const what = called(thread);
  const PythonFrame* const cond = thread.find("wait", "/threading.py", 3);
  if (what == nullptr || cond == nullptr) {
    return std::nullopt;
  }
  const auto self = of.object(*what, "self");
  const auto type = self ? of.heap().type_of(*self) : std::unexpected(Error());
  const std::string kind = type ? printable((*type)->name) : "Condition";
  Cause cause{.id = "condition",
              .standing = Standing::Waits,
              .confidence = Confidence::Possible};
  cause.sentence =
      fmt::format("waits in {}.{} for another thread", kind, what->function);
  cause.evidence.push_back(thread.place());
  if (thread.wakes_by_itself()) {
    cause.evidence.push_back("it waits for a limited time, and may ask again");
  }
  if (what->function == "result" || what->function == "exception" ||
      what->function == "as_completed" || what->function == "wait") {
    if (what->file.ends_with("/concurrent/futures/_base.py")) {
      cause.id = "future";
      cause.sentence =
          fmt::format("waits for the result of a Future ({})", what->function);
      cause.behind = busy_workers(of);
      if (!cause.behind.empty()) {
        cause.confidence = Confidence::Likely;
        cause.evidence.push_back(fmt::format(
            "all {} threads of the pool are at work", cause.behind.size()));
      }
      return cause;
    }
  }
  const auto others = of.python_threads();
  const bool nobody = std::ranges::all_of(
      others, [&](const CaseThread* one) { return one == &thread; });
  if (nobody && !thread.wakes_by_itself()) {
    cause.standing = Standing::Stuck;
    cause.confidence = Confidence::Likely;
    cause.id = "nobody-left";
    cause.sentence = fmt::format(
        "waits in {}.{}, and no other thread is here that could end that", kind,
        what->function);
    if (of.forked_from(of.status.ppid)) {
      cause.evidence.push_back(
          fmt::format("forked from {}, without that one's other threads",
                      process_text(of.status.ppid)));
    }
  }
  return cause;
}

}  // namespace hangdbg::causes
