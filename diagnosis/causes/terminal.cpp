// A program that waits for input at its terminal.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_files.h"
#include "inspector/jobs/process_tree.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

// It waits for the end of a child, or for what others write into pipes.
bool writes_nothing_now(const ProcessSnapshot& of,
                        const ThreadSnapshot& thread) {
  if (thread.sleeps_in("wait4") || thread.sleeps_in("waitid")) {
    return true;
  }
  const AwaitedFiles awaited = awaited_files(of, thread);
  return !thread.ran && !awaited.with_time && !awaited.files.empty() &&
         std::ranges::all_of(awaited.files, [](const AwaitedFile& one) {
           return one.to_read && (one.file.kind == FileKind::Pipe ||
                                  one.file.kind == FileKind::PidFd);
         });
}

// The writer of its standard input, if that is the parent, and its only thread
// waits for others: then it does not write.
std::optional<ThreadId> parent_that_waits(const ProcessSnapshot& of) {
  const auto input = of.file(0);
  if (!input || !input->is_pipe() || !of.system.saw_all_pipes()) {
    return {};
  }
  const int parent = of.status.ppid;
  bool writes = false;
  for (const PipeEnd& end : of.system.pipe_ends(input->inode, input->device)) {
    if (end.writes && end.pid != parent) {
      return {};
    }
    writes |= end.writes;
  }
  const ProcessSnapshot* const its =
      writes ? of.system.snapshot(parent) : nullptr;
  const ThreadSnapshot* const main = its != nullptr && its->threads.size() == 1
                                         ? its->thread(parent)
                                         : nullptr;
  return main != nullptr && writes_nothing_now(*its, *main)
             ? std::optional(ThreadId{parent, parent})
             : std::nullopt;
}

// The server of its terminal, if that is an ancestor in Python whose only
// thread waits just for the terminal's output: then no input will come.
std::optional<ThreadId> server_that_waits(const ProcessSnapshot& of,
                                          const OpenFile& tty) {
  constexpr int kGenerations = 4;
  int pid = of.status.ppid;
  for (int i = 0; i < kGenerations && pid > 1; ++i) {
    const ProcessSnapshot* const its = of.system.snapshot(pid);
    if (its == nullptr) {
      return {};
    }
    if (its->is_python() && its->threads.size() == 1) {
      const ThreadSnapshot& only = its->threads.front();
      const AwaitedFiles awaited = awaited_files(*its, only);
      if (!only.ran && awaited.files.size() == 1 &&
          awaited.files.front().to_read &&
          awaited.files.front().file.terminal &&
          tty.name == fmt::format("/dev/pts/{}",
                                  *awaited.files.front().file.terminal)) {
        return ThreadId{pid, pid};
      }
    }
    pid = its->status.ppid;
  }
  return {};
}

// Its standard input comes from a process that has not started it, as in a
// shell's pipeline: that is a pipe like any other.
bool comes_from_another(const ProcessSnapshot& of) {
  const auto input = of.file(0);
  if (!input || !input->is_pipe()) {
    return false;
  }
  std::set<int> writers;
  for (const PipeEnd& end : of.system.pipe_ends(input->inode, input->device)) {
    if (end.writes) {
      writers.insert(end.pid);
    }
  }
  const int parent = of.status.ppid;
  if (writers.empty() || writers.contains(of.pid) || writers.contains(parent)) {
    return false;
  }
  ProcessTree tree;
  add_with_ancestors(tree, parent);
  return std::ranges::none_of(ancestors(parent, tree),
                              [&](int pid) { return writers.contains(pid); });
}

}  // namespace

Found terminal(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  const auto tty =
      std::ranges::find_if(awaited.files, [](const AwaitedFile& one) {
        return one.to_read && (one.file.name.starts_with("/dev/pts/") ||
                               one.file.name.starts_with("/dev/tty"));
      });
  const bool input = thread.sleeps_in("read") && thread.wait.call.args[0] == 0;
  if (tty == awaited.files.end() && (!input || comes_from_another(of))) {
    return std::nullopt;
  }
  const auto asks =
      std::ranges::find_if(thread.frames(), [](const PythonFrame& frame) {
        return frame.file.ends_with("/pdb.py") ||
               frame.file.ends_with("/bdb.py");
      });
  const std::string where =
      tty == awaited.files.end()
          ? "its standard input"
          : fmt::format("its terminal, {}", printable(tty->file.name));
  Cause cause{.id = CauseId::TerminalInput,
              .progress = Progress::Idle,
              .confidence = Confidence::Certain};
  cause.summary =
      asks == thread.frames().end()
          ? fmt::format("waits for input from {}", where)
          : fmt::format(
                "stands at a prompt of pdb, and waits for input from {}",
                where);
  cause.evidence.push_back(fmt::format(
      "{} of fd {} at {}", thread.wait.syscall,
      tty == awaited.files.end() ? 0 : tty->file.fd, thread.place()));
  if (tty != awaited.files.end()) {
    if (const auto server = server_that_waits(of, tty->file)) {
      cause.confidence = Confidence::Likely;
      cause.blocked_by.push_back(*server);
      cause.evidence.push_back(
          fmt::format("{} serves that terminal, and waits for what is written "
                      "there",
                      process_text(server->pid)));
    }
  } else {
    if (const auto parent = parent_that_waits(of)) {
      cause.blocked_by.push_back(*parent);
      cause.evidence.push_back(fmt::format(
          "{} alone has the other end, and waits meanwhile: {}",
          process_text(parent->pid),
          of.system.snapshot(parent->pid)->thread(parent->pid)->place()));
    }
  }
  return cause;
}

}  // namespace hangdbg::causes
