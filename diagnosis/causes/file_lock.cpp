// A lock on a file: flock(2), fcntl(2), or the library filelock, which asks
// again and again.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/holders.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

Cause held(const ThreadSnapshot& thread,
           const std::string& path,
           std::vector<ThreadId> holders) {
  Cause cause{.id = CauseId::FileLock,
              .progress = Progress::Blocked,
              .confidence = Confidence::Certain};
  cause.evidence.push_back(thread.place());
  if (holders.empty()) {
    cause.confidence = Confidence::Likely;
    cause.summary = fmt::format(
        "waits for the lock on {}, and who has it is not to be seen from here",
        printable(path));
    cause.evidence.push_back("/proc/locks names nobody that we can see");
    cause.next.push_back({fmt::format("lslocks | grep {}", shell_quote(path)),
                          "as root, outside of the container"});
    return cause;
  }
  // One that has ended since has left it to who has the descriptor from it.
  const int pid = holders.front().pid;
  const bool alive = read_status(pid).has_value();
  cause.summary = fmt::format("waits for the lock on {}, which {} has",
                              printable(path), process_text(pid));
  cause.evidence.push_back(fmt::format("/proc/locks: {} holds it{}",
                                       process_text(pid),
                                       alive ? "" : ", which has ended"));
  if (!alive) {
    cause.evidence.push_back(
        "a child of it has the descriptor, and so the lock");
    cause.next.push_back({fmt::format("fuser -v {}", shell_quote(path)),
                          "who has the file open"});
    return cause;
  }
  cause.next.push_back({fmt::format("hangdbg diagnose {}", pid),
                        "why that one does not let go of it"});
  cause.blocked_by = std::move(holders);
  cause.blocks_others = true;
  return cause;
}

// filelock's locks: BaseFileLock.acquire() tries, and sleeps; from 4.0 on, what
// it calls.
std::optional<std::string> polled_path(const ProcessSnapshot& of,
                                       const ThreadSnapshot& thread) {
  if (!of.is_python()) {
    return {};
  }
  constexpr std::pair<const char*, const char*> kPolls[] = {
      {"_poll_until_acquired", "filelock/_core/_acquire.py"},
      {"_poll_until_acquired", "filelock/_api.py"},
      {"acquire", "filelock/_api.py"}};
  for (const auto& [function, file] : kPolls) {
    const PythonFrame* const frame = thread.find(function, file, 4);
    for (const char* const name :
         {"lock_filename", "self._context.lock_file", "self._lock_file"}) {
      if (auto path = frame != nullptr ? of.text(*frame, name) : std::nullopt) {
        return path;
      }
    }
  }
  return {};
}

}  // namespace

Found file_lock(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (const auto fd = awaited_file_lock(thread)) {
    const auto file = of.file(*fd);
    Cause cause =
        held(thread, file ? file->name : "a file", who_has_awaited(of));
    if (of.makes_progress(thread)) {
      cause.progress = Progress::Running;
      cause.evidence.push_back(
          "it has had the lock meanwhile: they take turns");
    }
    return cause;
  }
  const auto path = polled_path(of, thread);
  const auto seen = path ? seen_by(of.pid, *path) : std::nullopt;
  if (!seen) {
    return std::nullopt;
  }
  auto holders = who_locks(of, *seen);
  return holders.empty() ? std::nullopt
                         : Found(held(thread, *path, std::move(holders)));
}

}  // namespace hangdbg::causes
