// open(2) of a FIFO, which waits until it is opened for the other direction.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/opened_fifo.h"

namespace hangdbg::causes {

Found fifo(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto opened = opened_fifo(of, thread);
  if (!opened) {
    return std::nullopt;
  }
  const auto& [file, to_read] = *opened;
  const char* const wanted = to_read ? "write" : "read";
  const auto ends = of.system.pipe_ends(file.inode, file.device);
  if (std::ranges::any_of(ends, [&](const PipeEnd& end) {
        return to_read ? end.writes : end.reads;
      })) {
    return std::nullopt;  // it has just been opened: the call returns
  }
  const bool all_seen = of.system.saw_all_pipes();
  Cause cause{.id = CauseId::FifoOpen,
              .progress = Progress::Blocked,
              .confidence = all_seen ? Confidence::Certain : Confidence::Likely,
              .summary = fmt::format(
                  "opens the FIFO {} to {} it, and nobody {}has it "
                  "open to {}",
                  printable(file.path), to_read ? "read" : "write to",
                  all_seen ? "" : "who can be seen ", wanted)};
  cause.evidence.push_back(
      fmt::format("{} at {}", thread.wait.syscall, thread.place()));
  cause.evidence.push_back(fmt::format(
      "it waits until a process opens {} to {}", printable(file.path), wanted));
  return cause;
}

}  // namespace hangdbg::causes
