// What servers do between two requests: they wait for any of several
// descriptors, or for a connection.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_files.h"

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
  if (!awaited.any) {
    return std::nullopt;
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
