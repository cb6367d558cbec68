// A thread that is stopped, or has ended: it does nothing until somebody else
// does something.
#include <fmt/core.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "inspector/diagnosis/causes/causes.h"

namespace hangdbg::causes {
namespace {

// Whoever reads from its terminal in the background is stopped for it.
bool wanted_terminal(const Case& of, const CaseThread& thread) {
  const auto& call = thread.wait.call;
  if (call.running || (call.number != SYS_read && call.number != SYS_write)) {
    return false;
  }
  const auto file = of.file(static_cast<int>(call.args[0]));
  return file && (file->name.starts_with("/dev/pts/") ||
                  file->name.starts_with("/dev/tty"));
}

Cause ended(const Case& of) {
  return {
      .id = "ended",
      .standing = Standing::Stuck,
      .confidence = Confidence::Certain,
      .sentence = fmt::format("has ended, and its parent, {}, has not taken "
                              "notice",
                              process_text(of.status.ppid)),
      .evidence = {"state Z in /proc: what is left is its exit status"},
      .next = {{fmt::format("hangdbg diagnose {}", of.status.ppid),
                "why the parent does not take notice"}}};
}

}  // namespace

Found stopped(const Case& of, const CaseThread& thread) {
  const auto next = [&](const std::string& command, const std::string& why) {
    return std::vector<NextStep>{{command, why}};
  };
  switch (thread.wait.state) {
    case 'T': {
      const bool terminal = wanted_terminal(of, thread);
      return Cause{
          .id = "stopped",
          .standing = Standing::Stuck,
          .confidence = Confidence::Certain,
          .sentence = terminal ? "is stopped: it runs in the background, and "
                                 "wanted its terminal"
                               : "is stopped, by SIGSTOP or Ctrl-Z",
          .evidence = {fmt::format("state T in /proc/{}/status", of.pid)},
          .next = terminal ? next("fg", "in the shell that has started it")
                           : next(fmt::format("kill -CONT {}", of.pid),
                                  "it goes on")};
    }
    case 't':
      return Cause{
          .id = "traced",
          .standing = Standing::Stuck,
          .confidence = Confidence::Certain,
          .sentence = fmt::format("is held by a debugger, {}",
                                  process_text(of.status.tracer_pid)),
          .evidence = {fmt::format("state t, TracerPid {} in /proc/{}/status",
                                   of.status.tracer_pid, of.pid)},
          .next = next(fmt::format("ps -fp {}", of.status.tracer_pid),
                       "whose debugger it is")};
    case 'Z':
    case 'X':
      return thread.id.tid == of.pid ? Found(ended(of)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace hangdbg::causes
