// What servers do between two requests: they wait for any of several
// descriptors, or for a connection.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_files.h"
#include "diagnosis/waits/pipe_holders.h"
#include "diagnosis/waits/sleep_loop.h"

namespace hangdbg::causes {
namespace {

// What a kernel descriptor delivers; "" for other files.
std::string_view what_comes_by(FileKind kind) {
  switch (kind) {
    case FileKind::Inotify:
      return "changes of the files that it watches (inotify)";
    case FileKind::TimerFd:
      return "a timer (timerfd)";
    case FileKind::SignalFd:
      return "a signal (signalfd)";
    default:
      return "";
  }
}

// No other thread is here, no handler, and no process that could have inherited
// what the thread waits for.
bool is_alone(const ProcessSnapshot& of) {
  return of.threads.size() == 1 && !of.handles_signals() &&
         of.system.children().count(of.pid) == 0 &&
         !of.forked_from(of.status.ppid);
}

// Waits that a thread of its own process would have to end: read(2) of an
// eventfd, an epoll set without a descriptor, a timerfd that is not armed. ""
// of others.
std::string_view wait_for_itself(const ProcessSnapshot& of,
                                 const ThreadSnapshot& thread,
                                 const AwaitedFiles& awaited) {
  const auto awaits_one = [&](FileKind kind) {
    return awaited.files.size() == 1 && awaited.files.front().file.kind == kind;
  };
  if (thread.sleeps_in("read") && awaits_one(FileKind::EventFd)) {
    return "waits until something is added to its eventfd";
  }
  if (awaited.with_time) {
    return "";
  }
  if (awaits_one(FileKind::TimerFd) && awaited.files.front().file.disarmed) {
    return "waits for its timer (timerfd), which is not armed";
  }
  if (!thread.sleeps_in("epoll_wait") && !thread.sleeps_in("epoll_pwait")) {
    return "";
  }
  const auto set = of.file(static_cast<int>(thread.wait.call.args[0]));
  return set && set->kind == FileKind::Epoll && set->watches.empty()
             ? "waits for events, and watches no descriptor"
             : "";
}

Found waits_for_itself(const ProcessSnapshot& of,
                       const ThreadSnapshot& thread,
                       const AwaitedFiles& awaited) {
  const std::string_view what = wait_for_itself(of, thread, awaited);
  if (what.empty()) {
    return std::nullopt;
  }
  Cause cause{
      .id = CauseId::Condition,
      .progress = Progress::Blocked,
      .confidence = Confidence::Possible,
      .summary = std::string(what),
      .evidence = {fmt::format("{} of fd {} at {}", thread.wait.syscall,
                               thread.wait.call.args[0], thread.place())}};
  if (!thread.ran && is_alone(of)) {
    cause.id = CauseId::NobodyLeft;
    cause.progress = Progress::Stuck;
    cause.confidence = Confidence::Likely;
    cause.summary += ", and no other thread is here that could end that";
  }
  return cause;
}

// As a supervisor does: each descriptor is a pipe that another process may
// write to or close, or a child.
Found waits_for_any(const ProcessSnapshot& of,
                    const ThreadSnapshot& thread,
                    const AwaitedFiles& awaited) {
  if (awaited.with_time || awaited.files.size() < 2 || thread.ran) {
    return std::nullopt;
  }
  std::vector<ThreadId> behind;
  for (const AwaitedFile& one : awaited.files) {
    if (!one.to_read || one.file.kind != FileKind::Pipe) {
      return std::nullopt;
    }
    const auto writers = pipe_holders(of, one.file, /*writers=*/true).mains();
    behind.insert(behind.end(), writers.begin(), writers.end());
    if (writers.empty()) {
      return std::nullopt;
    }
  }
  std::ranges::sort(behind);
  const auto doubles = std::ranges::unique(behind);
  behind.erase(doubles.begin(), doubles.end());
  return Cause{
      .id = CauseId::PipeRead,
      .progress = Progress::Blocked,
      .confidence = Confidence::Possible,
      .summary = fmt::format(
          "waits until one of {} processes writes into a pipe or ends",
          behind.size()),
      .evidence = {fmt::format("{} of {} pipes at {}", thread.wait.syscall,
                               awaited.files.size(), thread.place())},
      .blocked_by = behind,
      .any_unblocks = true};
}

std::string summary_of(const AwaitedFiles& awaited) {
  const std::string_view what =
      awaited.files.size() == 1 ? what_comes_by(awaited.files.front().file.kind)
                                : std::string_view();
  return what.empty()
             ? fmt::format(
                   "waits for events on {} {}", awaited.files.size(),
                   awaited.files.size() == 1 ? "descriptor" : "descriptors")
             : fmt::format("waits for {}", what);
}

}  // namespace

Found events(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  if (!awaited.any || is_sleep_for_ever(thread.wait.call)) {
    return std::nullopt;
  }
  if (auto itself = waits_for_itself(of, thread, awaited)) {
    return itself;
  }
  if (auto any = waits_for_any(of, thread, awaited)) {
    return any;
  }
  const bool accepts =
      thread.sleeps_in("accept") || thread.sleeps_in("accept4");
  // A thread that accepts without an event loop may want one peer only.
  const bool serves =
      !accepts &&
      std::ranges::any_of(awaited.files, [&](const AwaitedFile& one) {
        return accepts_connections(of, one.file);
      });
  return Cause{.id = serves ? CauseId::Serves : CauseId::Idle,
               .progress = Progress::Idle,
               .confidence = Confidence::Likely,
               .summary = serves || accepts ? "waits for a connection"
                                            : summary_of(awaited),
               .evidence = {fmt::format("{} at {}", thread.wait.syscall,
                                        thread.place())}};
}

}  // namespace hangdbg::causes
