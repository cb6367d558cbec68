// A program that serves a terminal, as pexpect and pty.fork() do, and waits for
// the output of the programs on it (pty(7)).
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
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
    const auto [begin, end] = of.system.children().equal_range(below[at]);
    for (auto child = begin; child != end && below.size() < kMost; ++child) {
      below.push_back(child->second);
      const ProcessSnapshot* const its = of.system.snapshot(child->second);
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

// The process that serves that terminal: this one, or one above it.
std::optional<int> who_serves(const ProcessSnapshot& of, int terminal) {
  constexpr int kMost = 8;
  const ProcessSnapshot* one = &of;
  for (int i = 0; i < kMost && one != nullptr; ++i) {
    const auto files = one->open_files();
    if (std::ranges::any_of(files, [terminal](const OpenFile& file) {
          return file.terminal == terminal;
        })) {
      return one->pid;
    }
    const int parent = one->status.ppid;
    one = parent > 1 ? of.system.snapshot(parent) : nullptr;
  }
  return std::nullopt;
}

// A terminal takes no more: its server does not read, or it was stopped by
// Ctrl-S (termios(3)).
Found writes_to_terminal(const ProcessSnapshot& of,
                         const ThreadSnapshot& thread,
                         const OpenFile& file) {
  constexpr std::string_view kPts = "/dev/pts/";
  const auto number =
      file.name.starts_with(kPts)
          ? parse_number<int>(std::string_view(file.name).substr(kPts.size()))
          : std::nullopt;
  if (!number || thread.ran) {
    return std::nullopt;
  }
  Cause cause{
      .id = CauseId::PeerDoesNotRead,
      .progress = Progress::Blocked,
      .confidence = Confidence::Likely,
      .summary = fmt::format("writes to the terminal {}, which takes no more",
                             printable(file.name)),
      .evidence = {fmt::format("{} of fd {}, at {}", thread.wait.syscall,
                               file.fd, thread.place())}};
  const auto server = who_serves(of, *number);
  if (server == of.pid) {
    cause.summary += ": this process itself serves it, and does not read";
    cause.evidence.push_back(
        "it has the other end of that terminal open itself");
  } else if (server) {
    cause.summary +=
        fmt::format(": {}, which serves it, does not read, or it was stopped",
                    process_text(*server));
    cause.blocked_by.push_back({*server, *server});
    cause.any_unblocks = true;
  } else {
    cause.evidence.push_back(
        "Ctrl-Q starts a terminal again that Ctrl-S has stopped");
  }
  return cause;
}

}  // namespace

Found pseudo_terminal(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  if (awaited.files.size() == 1 && !awaited.files.front().to_read) {
    return writes_to_terminal(of, thread, awaited.files.front().file);
  }
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
