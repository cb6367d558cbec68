// A lock that is a file: waiters poll until it is gone. torch's FileBaton is
// one, behind which each build of an extension waits, and filelock's
// SoftFileLock. Its maker keeps it open; if no process does, it is never
// removed.
#include <fmt/core.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/file_owner.h"
#include "diagnosis/waits/holders.h"
#include "diagnosis/waits/polled_lock.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

struct Polled {
  const PythonFrame* frame = nullptr;
  std::string path;
};

// The frame that waits, by the attribute that names the file.
std::optional<Polled> polled_file(const ProcessSnapshot& of,
                                  const ThreadSnapshot& thread) {
  constexpr std::size_t kDepth = 4;
  for (std::size_t i = 0; i < std::min(kDepth, thread.frames().size()); ++i) {
    const PythonFrame& frame = thread.frames()[i];
    if (frame.function != "wait" && frame.function != "acquire" &&
        frame.function != "_acquire") {
      continue;
    }
    if (auto path = of.text(frame, "self.lock_file_path")) {
      return Polled{&frame, *std::move(path)};
    }
  }
  const auto tried = library_try(of, thread);
  return tried && tried->by_existence
             ? std::optional(Polled{tried->frame, tried->path})
             : std::nullopt;
}

// The maker is on another machine, or may still be at work. A maker that no
// longer has it open has lost it.
bool is_of_another(const ProcessSnapshot& of,
                   const FileOwner& owner,
                   bool all_seen,
                   const std::string& path,
                   const std::string& old,
                   Cause& cause) {
  if (!owner.here) {
    cause.summary = fmt::format(
        "waits until the lock file {} is gone, {} old, which process {} on {} "
        "has made",
        path, old, owner.pid, printable(owner.host));
    cause.evidence.push_back(
        fmt::format("it names process {} on {} as its owner", owner.pid,
                    printable(owner.host)));
    return true;
  }
  cause.evidence.push_back(fmt::format(
      "it names process {} of this machine as its owner, which {}", owner.pid,
      !owner.alive ? "has ended"
      : all_seen   ? "does not have it open"
                   : "is there"));
  if (!owner.alive || all_seen) {
    return false;
  }
  cause.summary = fmt::format(
      "waits until the lock file {} is gone, {} old, which {} has made", path,
      old, process_text(owner.pid));
  if (owner.pid != of.pid) {
    cause.blocked_by = {{owner.pid, owner.pid}};
  }
  return true;
}

}  // namespace

Found stale_lock_file(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (!of.is_python()) {
    return std::nullopt;
  }
  const auto polled = polled_file(of, thread);
  if (!polled) {
    return std::nullopt;
  }
  const auto seen = seen_by(of.pid, polled->path);
  if (!seen) {
    return std::nullopt;
  }
  const Openers openers = who_has_open(of, *seen);
  const std::string old = age_text(*seen);
  const std::string path = printable(seen->path);
  Cause cause{.id = CauseId::LockFile,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely,
              .evidence = {fmt::format("{} at {}", polled->frame->qualname,
                                       thread.place()),
                           fmt::format("{} is there, {} old", path, old)}};
  if (!openers.known.empty()) {
    const int pid = openers.known.front().pid;
    cause.summary = fmt::format(
        "waits until the lock file {} is gone, {} old, which {} has open", path,
        old, pid == of.pid ? "it itself" : process_text(pid));
    cause.evidence.push_back(process_text(pid) + " has it open");
    if (pid != of.pid) {
      cause.blocked_by = openers.known;
      cause.blocks_others = true;
      cause.next.push_back({fmt::format("hangdbg diagnose {}", pid),
                            "why that one does not come to its end"});
    }
    return cause;
  }
  const auto owner = file_owner(of, *seen);
  if (owner &&
      is_of_another(of, *owner, openers.unseen == 0, path, old, cause)) {
    return cause;
  }
  cause.id = CauseId::StaleLockFile;
  cause.progress = Progress::Stuck;
  cause.summary = fmt::format(
      "waits until the lock file {} is gone: it is {} old, and {}", path, old,
      owner && !owner->alive
          ? fmt::format("process {}, which made it, has ended", owner->pid)
          : "nobody here has it open who could remove it");
  cause.confidence =
      openers.unseen == 0 && !openers.elsewhere && !(owner && owner->alive)
          ? Confidence::Certain
          : Confidence::Likely;
  cause.evidence.push_back("no process that can be seen has it open");
  if (openers.unseen > 0) {
    cause.evidence.push_back(fmt::format(
        "what {} other processes have open may not be seen: ask as root",
        openers.unseen));
  }
  if (openers.elsewhere) {
    cause.evidence.push_back(
        "its file system may be shared: look on the other machines, too");
  }
  // A path that works from outside of a container, too.
  cause.next.push_back(
      {fmt::format("rm {}", shell_quote(fmt::format("/proc/{}/root{}", of.pid,
                                                    seen->path))),
       fmt::format("once it is sure that nobody {}: it goes on by itself then",
                   polled->frame->file.find("/torch/") != std::string::npos
                       ? "builds"
                       : "has it")});
  return cause;
}

}  // namespace hangdbg::causes
