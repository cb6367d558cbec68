// A lock on a file: flock(2), fcntl(2), or one that a library or the program
// itself tries to take again and again.
#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/holders.h"
#include "diagnosis/waits/polled_lock.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

// The process that took the lock has ended; another one holds it through an
// inherited descriptor.
void held_by_descriptor(const ProcessSnapshot& of,
                        const SeenFile& file,
                        int gone,
                        Cause& cause) {
  const std::string path = printable(file.path);
  cause.evidence.push_back(
      fmt::format("/proc/locks: process {} took it, and has ended", gone));
  const auto heirs = who_locks_by_descriptor(of, file);
  if (heirs.empty()) {
    cause.summary =
        fmt::format("waits for the lock on {}, held by process {}", path, gone);
    cause.evidence.push_back(
        "a child of it has the descriptor, and so the lock");
    cause.next.push_back({fmt::format("fuser -v {}", shell_quote(file.path)),
                          "the processes that have the file open"});
    return;
  }
  const std::string heir = process_text(heirs.front().pid);
  cause.summary =
      fmt::format("waits for the lock on {}, held by {}", path, heir);
  cause.evidence.push_back(
      fmt::format("{} has the descriptor, and so the lock", heir));
  cause.blocked_by = heirs;
}

// A lock of an open file description is not told by process there.
bool is_in_proc_locks(const ProcessSnapshot& of, int pid) {
  return std::ranges::any_of(of.system.file_locks(), [&](const FileLock& one) {
    return one.pid == pid && !one.waits;
  });
}

Cause held(const ProcessSnapshot& of,
           const ThreadSnapshot& thread,
           const SeenFile& file,
           std::vector<ThreadId> holders) {
  Cause cause{.id = CauseId::FileLock,
              .progress = Progress::Blocked,
              .confidence = Confidence::Certain};
  const std::string path = printable(file.path);
  cause.evidence.push_back(thread.place());
  if (holders.empty()) {
    cause.confidence = Confidence::Likely;
    cause.summary = fmt::format(
        "waits for the lock on {}, and its owner cannot be seen from here",
        path);
    cause.evidence.push_back("/proc/locks names nobody that we can see");
    cause.next.push_back(
        {fmt::format("lslocks | grep {}", shell_quote(file.path)),
         "as root, outside of the container"});
    return cause;
  }
  const int pid = holders.front().pid;
  if (!read_status(pid)) {
    held_by_descriptor(of, file, pid, cause);
  } else {
    cause.summary = fmt::format("waits for the lock on {}, held by {}", path,
                                process_text(pid));
    cause.evidence.push_back(fmt::format(
        "{}: {} holds it",
        is_in_proc_locks(of, pid) ? std::string("/proc/locks")
                                  : fmt::format("/proc/{}/fdinfo", pid),
        process_text(pid)));
    cause.blocked_by = std::move(holders);
  }
  if (!cause.blocked_by.empty()) {
    cause.next.push_back(
        {fmt::format("hangdbg diagnose {}", cause.blocked_by.front().pid),
         "why that one does not let go of it"});
    // A standby waits by design as long as the other one serves.
    cause.blocks_others = std::ranges::none_of(
        cause.blocked_by,
        [&](ThreadId id) { return takes_connections(of.system, id.pid); });
  }
  return cause;
}

}  // namespace

Found file_lock(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (const auto fd = awaited_file_lock(thread)) {
    const auto file = of.file(*fd);
    Cause cause = held(of, thread,
                       file ? SeenFile{.device = file->device,
                                       .inode = file->inode,
                                       .path = file->name}
                            : SeenFile{.path = "a file"},
                       who_has_awaited(of, thread));
    if (of.makes_progress(thread)) {
      cause.progress = Progress::Running;
      cause.evidence.push_back(
          "it has had the lock meanwhile: they take turns");
    }
    return cause;
  }
  auto polled = polled_lock(of, thread);
  if (!polled) {
    return std::nullopt;
  }
  if (polled->own) {
    return Cause{
        .id = CauseId::FileLock,
        .progress = Progress::Blocked,
        .confidence = Confidence::Certain,
        .summary = fmt::format("waits for the lock on {}, which its own "
                               "process has by another descriptor",
                               printable(polled->file.path)),
        .evidence = {
            std::move(polled->how),
            fmt::format("/proc/locks: process {} itself holds it", of.pid)}};
  }
  Cause cause = held(of, thread, polled->file, std::move(polled->holders));
  cause.evidence.front() = std::move(polled->how);
  cause.confidence = std::min(cause.confidence, polled->confidence);
  if (polled->confidence == Confidence::Possible) {
    cause.summary.replace(0, std::string_view("waits").size(), "may wait");
  }
  return cause;
}

}  // namespace hangdbg::causes
