// A thread that waits for the end of another: Thread.join, or the interpreter
// at its end, which joins the threads that are no daemons.
#include <fmt/core.h>

#include "base/text.h"
#include "diagnosis/causes/causes.h"

namespace hangdbg::causes {
namespace {

bool is_daemon(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const PythonFrame* const begin = thread.find("_bootstrap", "/threading.py");
  return begin != nullptr && of.shown(*begin, "self._daemonic") == "True";
}

std::vector<ThreadId> not_daemons(const ProcessSnapshot& of,
                                  const ThreadSnapshot& but) {
  std::vector<ThreadId> threads;
  for (const ThreadSnapshot* const one : of.python_threads()) {
    if (one != &but && one->find("_bootstrap", "/threading.py") != nullptr &&
        !is_daemon(of, *one)) {
      threads.push_back(one->id);
    }
  }
  return threads;
}

std::string thread_names(const ProcessSnapshot& of,
                         const std::vector<ThreadId>& threads) {
  std::string names;
  for (const ThreadId& id : threads) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ",
                         of.thread(id.tid)->who());
  }
  return names;
}

}  // namespace

Found join(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (!of.is_python() || thread.wait.syscall != "futex") {
    return std::nullopt;
  }
  const PythonFrame* const frame = thread.find("join", "/threading.py", 3);
  const PythonFrame* const shutdown =
      thread.find("_shutdown", "/threading.py", 3);
  if (frame == nullptr && shutdown == nullptr) {
    return std::nullopt;
  }
  const bool at_exit =
      shutdown != nullptr ||
      thread.find("_python_exit", "/concurrent/futures/thread.py") != nullptr;
  Cause cause{.id = at_exit ? CauseId::ExitJoin : CauseId::Join,
              .progress = Progress::Blocked,
              .confidence = Confidence::Certain};
  cause.evidence.push_back(thread.place());
  if (frame != nullptr) {
    const auto ident = of.number(*frame, "self._ident");
    const ThreadSnapshot* const joined =
        ident ? of.by_ident(static_cast<std::uint64_t>(*ident)) : nullptr;
    if (joined != nullptr) {
      cause.blocked_by.push_back(joined->id);
    }
  } else {
    cause.blocked_by = not_daemons(of, thread);
  }
  const std::string whom =
      !cause.blocked_by.empty() ? thread_names(of, cause.blocked_by)
      : frame != nullptr
          ? fmt::format("thread \"{}\"",
                        printable(of.text(*frame, "self._name").value_or("?")))
          : "a thread";
  cause.summary = fmt::format(
      "{}waits for the end of {}{}", at_exit ? "has come to its end, and " : "",
      whom, thread.has_timeout() ? " (for a limited time)" : "");
  if (at_exit) {
    cause.evidence.push_back(
        "the interpreter ends when the threads that are no daemons have");
  }
  return cause;
}

}  // namespace hangdbg::causes
