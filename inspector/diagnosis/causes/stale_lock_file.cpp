// A lock that is a file: who finds it looks again and again until it is gone.
// torch's FileBaton is one, behind which each build of an extension waits.
// Whoever made it keeps it open; if nobody does, nobody will remove it.
#include <fmt/core.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>

#include "base/text.h"
#include "inspector/diagnosis/causes/causes.h"
#include "inspector/diagnosis/holders.h"

namespace hangdbg::causes {
namespace {

struct Polled {
  const PythonFrame* frame = nullptr;
  std::string path;
};

// The frame that waits, by the attribute that names the file.
std::optional<Polled> polled_file(const Case& of, const CaseThread& thread) {
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

Found stale_lock_file(const Case& of, const CaseThread& thread) {
  if (!of.is_python()) {
    return std::nullopt;
  }
  const auto polled = polled_file(of, thread);
  if (!polled) {
    return std::nullopt;
  }
  const std::string path = printable(polled->path);
  const auto seen = seen_by(of.pid, polled->path);
  if (!seen) {
    return std::nullopt;
  }
  const auto holders = who_has_open(of, *seen);
  Cause cause{
      .id = "stale-lock-file",
      .standing = holders.empty() ? Standing::Stuck : Standing::Waits,
      .confidence = holders.empty() ? Confidence::Certain : Confidence::Likely};
  const std::string old = age_text(*seen);
  cause.evidence.push_back(
      fmt::format("{} at {}", polled->frame->qualname, thread.place()));
  cause.evidence.push_back(fmt::format("{} is there, {} old", path, old));
  if (holders.empty()) {
    cause.sentence = fmt::format(
        "waits until the lock file {} is gone: it is {} old, and nobody has it "
        "open who could remove it",
        path, old);
    cause.evidence.push_back(
        "no process has it open: whoever made it has ended");
    cause.next.push_back({fmt::format("rm {}", shell_quote(polled->path)),
                          "it goes on by itself then"});
    return cause;
  }
  cause.id = "lock-file";
  cause.sentence = fmt::format(
      "waits until the lock file {} is gone, which {} "
      "has made {} ago",
      path, process_text(holders.front().pid), old);
  for (const ThreadId& holder : holders) {
    cause.evidence.push_back(process_text(holder.pid) + " has it open");
  }
  cause.behind = holders;
  cause.next.push_back({fmt::format("hangdbg diagnose {}", holders.front().pid),
                        "why that one does not come to its end"});
  return cause;
}

}  // namespace hangdbg::causes
