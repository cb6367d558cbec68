// A thread that is stopped, frozen with its cgroup, or has ended: it does
// nothing until another process acts.
#include <fmt/core.h>
#include <sys/syscall.h>

#include <chrono>
#include <optional>
#include <thread>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "inspector/host/host_context.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

// A background process that reads from its terminal is stopped.
bool wanted_terminal(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto& call = thread.wait.call;
  if (call.running || (call.number != SYS_read && call.number != SYS_write)) {
    return false;
  }
  const auto file = of.file(static_cast<int>(call.args[0]));
  return file && (file->name.starts_with("/dev/pts/") ||
                  file->name.starts_with("/dev/tty"));
}

// Its parent may take notice in a moment, as a Pool does whose workers end
// after some tasks.
bool stays_ended(const ProcessSnapshot& of) {
  constexpr int kEndedLooks = 6;
  constexpr auto kBetweenEndedLooks = std::chrono::milliseconds(50);
  for (int i = 0; i < kEndedLooks; ++i) {
    std::this_thread::sleep_for(kBetweenEndedLooks);
    const auto now = of.wait_now(of.pid);
    if (!now || now->state != 'Z') {
      return false;
    }
  }
  return true;
}

Cause ended(const ProcessSnapshot& of) {
  if (!stays_ended(of)) {
    return {.id = CauseId::Ended,
            .progress = Progress::Running,
            .confidence = Confidence::Certain,
            .summary = "has just ended",
            .evidence = {"its parent takes notice"}};
  }
  return {.id = CauseId::Ended,
          .progress = Progress::Stuck,
          .confidence = Confidence::Certain,
          .summary = fmt::format("has ended, and its parent, {}, has not taken "
                                 "notice",
                                 process_text(of.status.ppid)),
          .evidence = {"state Z in /proc: what is left is its exit status"},
          .next = {{fmt::format("hangdbg tree {}", of.pid),
                    "who its parent is, and what that one does"}}};
}

// The debugger that holds it; 0: none. A stop of some microseconds by a stack
// reader (another hangdbg, a profiler) is no hang: all samples must be in the
// same stop. Each stop is a context switch.
int debugger_of(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  constexpr int kStopLooks = 5;
  constexpr auto kBetweenStopLooks = std::chrono::milliseconds(40);
  std::optional<ProcStatus> first;
  for (int i = 0; i < kStopLooks; ++i) {
    if (i > 0) {
      std::this_thread::sleep_for(kBetweenStopLooks);
    }
    const auto now = of.status_now(thread.id.tid);
    if (!now || now->state != 't' || now->tracer_pid == 0) {
      return 0;
    }
    if (!first) {
      first = *now;
    }
    if (now->tracer_pid != first->tracer_pid ||
        now->voluntary_switches != first->voluntary_switches) {
      return 0;
    }
  }
  return first->tracer_pid;
}

}  // namespace

// Nothing in that cgroup runs until it is thawed.
Found frozen(const ProcessSnapshot& of, const ThreadSnapshot&) {
  const auto& frozen = of.system.around(of.pid).cgroup.frozen;
  if (!frozen) {
    return std::nullopt;
  }
  return Cause{
      .id = CauseId::Frozen,
      .progress = Progress::Stuck,
      .confidence = Confidence::Certain,
      .summary = fmt::format("is frozen with its cgroup {}", frozen->path),
      .evidence = {"the kernel says so of that cgroup: a checkpoint, `docker "
                   "pause` or a batch system has frozen it"},
      .next = {{frozen->command, "it goes on"}}};
}

Found stopped(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto next = [&](const std::string& command, const std::string& why) {
    return std::vector<NextStep>{{command, why}};
  };
  switch (thread.wait.state) {
    case 'T': {
      const bool terminal = wanted_terminal(of, thread);
      return Cause{
          .id = CauseId::Stopped,
          .progress = Progress::Stuck,
          .confidence = Confidence::Certain,
          .summary = terminal ? "is stopped: it runs in the background, and "
                                "wanted its terminal"
                              : "is stopped, by SIGSTOP or Ctrl-Z",
          .evidence = {fmt::format("state T in /proc/{}/status", of.pid)},
          .next = terminal ? next("fg", "in the shell that has started it")
                           : next(fmt::format("kill -CONT {}", of.pid),
                                  "it goes on")};
    }
    case 't': {
      const int debugger = debugger_of(of, thread);
      if (debugger == 0) {
        return std::nullopt;
      }
      return Cause{
          .id = CauseId::Traced,
          .progress = Progress::Stuck,
          .confidence = Confidence::Certain,
          .summary =
              fmt::format("is held by a debugger, {}", process_text(debugger)),
          .evidence = {fmt::format("state t, TracerPid {} in /proc/{}/task/{}/"
                                   "status",
                                   debugger, of.pid, thread.id.tid)},
          .next =
              next(fmt::format("ps -fp {}", debugger), "whose debugger it is")};
    }
    case 'Z':
      return thread.id.tid == of.pid ? Found(ended(of)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace hangdbg::causes
