// A program that serves a terminal, as pexpect and pty.fork() do, and waits for
// what the programs on it write (pty(7)).
#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_files.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

// Below it, those whose standard streams are that terminal.
std::vector<ThreadId> who_is_on(const ProcessSnapshot& of,
                                const std::string& terminal) {
  constexpr std::size_t kMost = 64;
  std::vector<ThreadId> found;
  std::vector<int> below = {of.pid};
  for (std::size_t at = 0; at < below.size() && below.size() < kMost; ++at) {
    const auto [begin, end] = of.world.children().equal_range(below[at]);
    for (auto child = begin; child != end && below.size() < kMost; ++child) {
      below.push_back(child->second);
      const ProcessSnapshot* const its = of.world.snapshot(child->second);
      const auto is_there = [&](int fd) {
        const auto file = its->file(fd);
        return file && file->name == terminal;
      };
      if (its != nullptr && (is_there(0) || is_there(1) || is_there(2))) {
        found.push_back({child->second, child->second});
      }
    }
  }
  return found;
}

}  // namespace

Found pseudo_terminal(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  if (awaited.files.size() != 1 || !awaited.files.front().to_read ||
      !awaited.files.front().file.terminal) {
    return std::nullopt;
  }
  const OpenFile& file = awaited.files.front().file;
  const std::string terminal = fmt::format("/dev/pts/{}", *file.terminal);
  Cause cause{
      .id = CauseId::PeerSilent,
      .progress = Progress::Blocked,
      .confidence = Confidence::Likely,
      .summary =
          fmt::format("waits for what is written to the terminal {}", terminal),
      .evidence = {fmt::format("{} of fd {}, which serves it, at {}",
                               thread.wait.syscall, file.fd, thread.place())}};
  cause.blocked_by = who_is_on(of, terminal);
  cause.any_unblocks = true;
  if (awaited.with_time) {
    cause.evidence.push_back("the call has a timeout: it returns by itself");
  }
  if (!cause.blocked_by.empty()) {
    const int first = cause.blocked_by.front().pid;
    cause.summary = fmt::format(
        "waits for what {} writes to the terminal {}",
        cause.blocked_by.size() == 1
            ? process_text(first)
            : fmt::format("one of {} processes", cause.blocked_by.size()),
        terminal);
    for (const ThreadId one : cause.blocked_by) {
      cause.evidence.push_back(
          fmt::format("{} is on that terminal", process_text(one.pid)));
    }
    cause.next.push_back({fmt::format("hangdbg diagnose {}", first),
                          "why that one writes nothing"});
  }
  return cause;
}

}  // namespace hangdbg::causes
