// A lock that is a file: who finds it looks again and again until it is gone.
// torch's FileBaton is one, behind which each build of an extension waits.
// Whoever made it keeps it open; if nobody does, nobody will remove it.
#include <fmt/core.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/holders.h"
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
  return {};
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
  Cause cause{
      .id = CauseId::LockFile,
      .progress = Progress::Blocked,
      .confidence = Confidence::Likely,
      .evidence = {
          fmt::format("{} at {}", polled->frame->qualname, thread.place()),
          fmt::format("{} is there, {} old", seen->path, old)}};
  if (!openers.known.empty()) {
    const int pid = openers.known.front().pid;
    cause.summary = fmt::format(
        "waits until the lock file {} is gone, {} old, which {} has open",
        seen->path, old, pid == of.pid ? "it itself" : process_text(pid));
    cause.evidence.push_back(process_text(pid) + " has it open");
    if (pid != of.pid) {
      cause.blocked_by = openers.known;
      cause.blocks_others = true;
      cause.next.push_back({fmt::format("hangdbg diagnose {}", pid),
                            "why that one does not come to its end"});
    }
    return cause;
  }
  cause.id = CauseId::StaleLockFile;
  cause.progress = Progress::Stuck;
  cause.summary = fmt::format(
      "waits until the lock file {} is gone: it is {} old, and nobody here has "
      "it open who could remove it",
      seen->path, old);
  cause.confidence = openers.unseen == 0 && !openers.elsewhere
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
  // By a way that leads there from outside of a container as well.
  cause.next.push_back(
      {fmt::format("rm {}", shell_quote(fmt::format("/proc/{}/root{}", of.pid,
                                                    seen->path))),
       "once it is sure that nobody builds: it goes on by itself then"});
  return cause;
}

}  // namespace hangdbg::causes
