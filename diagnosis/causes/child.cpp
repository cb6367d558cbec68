// A process that waits for the end of a child.
#include <fmt/core.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <optional>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_files.h"
#include "diagnosis/waits/sleep_loop.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

// waitid(2) takes a PID, a pidfd, a process group, or nothing. 0: any child, or
// any of a group.
int process_of_waitid(const ProcessSnapshot& of, const TaskSyscall& call) {
  const auto id = static_cast<int>(call.args[1]);
  switch (static_cast<idtype_t>(call.args[0])) {
    case P_PID:
      return id;
    case P_PIDFD: {
      const auto file = of.file(id);
      return file ? file->pid.value_or(0) : 0;
    }
    default:
      return 0;
  }
}

// The child that it waits for; 0 or less: any child. multiprocessing's join()
// with a timeout waits until the child closes its end of a pipe, which no other
// process has.
std::optional<int> awaited_child(const ProcessSnapshot& of,
                                 const ThreadSnapshot& thread) {
  const auto& call = thread.wait.call;
  if (!call.running && call.number == SYS_wait4) {
    return static_cast<int>(call.args[0]);
  }
  if (!call.running && call.number == SYS_waitid) {
    return process_of_waitid(of, call);
  }
  const AwaitedFiles awaited = awaited_files(of, thread);
  if (awaited.files.size() == 1 &&
      awaited.files.front().file.kind == FileKind::PidFd) {
    return awaited.files.front().file.pid;
  }
  constexpr std::size_t kDepth = 5;
  // Popen.wait() with a timeout polls, up to 3.14.
  if (const PythonFrame* const polls =
          of.is_python() && is_timed_sleep(thread.wait.call)
              ? thread.find("_wait", "/subprocess.py", 1)
              : nullptr) {
    return of.number(*polls, "self.pid");
  }
  const PythonFrame* const joins =
      of.is_python() && thread.wait.state == 'S'
          ? thread.find("wait", "/multiprocessing/popen_fork.py", kDepth)
          : nullptr;
  const auto pid =
      joins != nullptr ? of.number(*joins, "self.pid") : std::nullopt;
  return pid && *pid > 0 ? std::optional(static_cast<int>(*pid)) : std::nullopt;
}

}  // namespace

Found child(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto awaited = awaited_child(of, thread);
  if (!awaited) {
    return std::nullopt;
  }
  const int wanted = *awaited;
  Cause cause{.id = CauseId::Child,
              .progress = Progress::Blocked,
              .confidence = Confidence::Certain,
              .may_give_up = is_timed_sleep(thread.wait.call)};
  const auto [begin, end] = of.system.children().equal_range(of.pid);
  for (auto at = begin; at != end; ++at) {
    if (wanted <= 0 || wanted == at->second) {
      cause.blocked_by.push_back({at->second, at->second});
    }
  }
  // A pidfd may be of any process.
  const bool own = !cause.blocked_by.empty();
  if (!own && wanted > 0 && of.system.snapshot(wanted) != nullptr) {
    cause.blocked_by.push_back({wanted, wanted});
  }
  cause.evidence.push_back(thread.place());
  if (cause.may_give_up) {
    cause.evidence.push_back("it waits for a limited time, and may ask again");
  }
  if (cause.blocked_by.empty()) {
    cause.summary = wanted > 0
                        ? fmt::format(
                              "waits for the end of process {}, which "
                              "cannot be seen from here",
                              wanted)
                        : "waits for the end of a child, and has none that "
                          "can be seen from here";
    return cause;
  }
  const int first = cause.blocked_by.front().pid;
  cause.summary =
      cause.blocked_by.size() == 1
          ? fmt::format("waits for the end of {}{}", own ? "its child, " : "",
                        process_text(first))
          : fmt::format("waits for the end of one of its {} children",
                        cause.blocked_by.size());
  cause.next.push_back(
      {fmt::format("hangdbg diagnose {}", first), "why that one does not end"});
  cause.next.push_back(
      {fmt::format("hangdbg tree {}", of.pid), "its children, and theirs"});
  return cause;
}

}  // namespace hangdbg::causes
