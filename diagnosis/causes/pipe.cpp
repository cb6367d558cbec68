// A pipe: nobody at its other end reads it, or nobody is left who could write.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/syscall.h>

#include <algorithm>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_files.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

// The processes that have the end which this thread waits for.
std::vector<ThreadId> others_with(const ProcessSnapshot& of,
                                  const OpenFile& pipe,
                                  bool writers,
                                  bool& own) {
  std::vector<ThreadId> others;
  for (const PipeEnd& end : of.world.pipe_ends(pipe.inode)) {
    if (!(writers ? end.writes : end.reads)) {
      continue;
    }
    const ThreadId id{end.pid, end.pid};
    if (end.pid == of.pid) {
      own = true;
    } else if (std::ranges::find(others, id) == others.end()) {
      others.push_back(id);
    }
  }
  return others;
}

// Another thread than main may be the one who reads or writes there.
bool any_with_threads(const ProcessSnapshot& of,
                      const std::vector<ThreadId>& processes) {
  return std::ranges::any_of(processes, [&](const ThreadId& id) {
    const ProcessSnapshot* const other = of.world.snapshot(id.pid);
    return other == nullptr || other->threads.size() > 1;
  });
}

std::string process_names(const std::vector<ThreadId>& processes) {
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(processes.size(), 3); ++i) {
    names += (i > 0 ? ", " : "") + process_text(processes[i].pid);
  }
  return processes.size() > 3
             ? fmt::format("{} and {} more", names, processes.size() - 3)
             : names;
}

// A pipe to itself is how a handler of a signal, or another thread, wakes a
// loop.
Cause wakes_itself(const ThreadSnapshot& thread, const OpenFile& pipe) {
  return {
      .id = CauseId::Idle,
      .progress = Progress::Idle,
      .confidence = Confidence::Possible,
      .summary =
          "waits for a pipe into which only it itself can write: "
          "its handlers of signals, if anybody",
      .evidence = {fmt::format("{} of fd {}, {}, at {}", thread.wait.syscall,
                               pipe.fd, printable(pipe.name), thread.place())}};
}

Cause reads(const ProcessSnapshot& of,
            const ThreadSnapshot& thread,
            const OpenFile& pipe,
            bool with_time) {
  bool own = false;
  const auto writers = others_with(of, pipe, /*writers=*/true, own);
  Cause cause{.id = CauseId::PipeRead,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely};
  cause.evidence.push_back(fmt::format("reads fd {}, {}, at {}", pipe.fd,
                                       printable(pipe.name), thread.place()));
  const bool queue =
      !thread.frames().empty() &&
      thread.frames()[0].file.find("/multiprocessing/") != std::string::npos;
  if (!writers.empty()) {
    cause.summary = fmt::format("waits for what {} writes into a pipe",
                                process_names(writers));
    cause.blocked_by = writers;
    cause.any_unblocks = true;
    if (any_with_threads(of, writers)) {
      cause.confidence = Confidence::Possible;
    }
    return cause;
  }
  if (!of.world.saw_all_pipes()) {
    cause.summary =
        "waits for a pipe, and who writes into it is not to be "
        "seen from here";
    return cause;
  }
  const bool handled = of.handles_signals();
  if (own && !queue && thread.wait.syscall != "read" &&
      (with_time || handled)) {
    return wakes_itself(thread, pipe);
  }
  const bool alone = of.python_threads().size() <= 1;
  cause.id = CauseId::WriterGone;
  cause.progress = Progress::Stuck;
  cause.confidence = !queue && !alone ? Confidence::Possible
                     : own && handled ? Confidence::Likely
                                      : Confidence::Certain;
  if (!queue && !alone) {
    cause.id = CauseId::PipeRead;
    cause.progress = Progress::Blocked;
  }
  cause.summary = fmt::format(
      "waits for a {} that nobody writes into any more: no other process has "
      "it open",
      queue ? "queue" : "pipe");
  cause.evidence.push_back(
      own ? "only this process itself has the write end open, so it never "
            "ends either"
          : "no process has the write end open");
  cause.next.push_back({fmt::format("hangdbg fds {}", of.pid),
                        "all its pipes, and who has the other ends"});
  return cause;
}

Cause writes(const ProcessSnapshot& of,
             const ThreadSnapshot& thread,
             const OpenFile& pipe) {
  bool own = false;
  const auto readers = others_with(of, pipe, /*writers=*/false, own);
  Cause cause{.id = CauseId::PipeFull,
              .progress = Progress::Blocked,
              .confidence = Confidence::Certain};
  cause.evidence.push_back(
      fmt::format("writes to fd {}, {}, which is full, at {}", pipe.fd,
                  printable(pipe.name), thread.place()));
  cause.summary =
      readers.empty()
          ? std::string(
                "writes into a pipe that is full, and that no other "
                "process reads")
          : fmt::format("writes into a pipe that is full: {} does not read it",
                        process_names(readers));
  cause.blocked_by = readers;
  cause.any_unblocks = true;
  if (any_with_threads(of, readers)) {
    cause.confidence = Confidence::Possible;
  }
  cause.progress = readers.empty() && own && of.python_threads().size() <= 1
                       ? Progress::Stuck
                       : Progress::Blocked;
  cause.next.push_back({fmt::format("hangdbg fds {}", of.pid),
                        "all its pipes, and who has the other ends"});
  return cause;
}

}  // namespace

Found pipe(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  if (awaited.files.size() != 1 ||
      awaited.files[0].file.kind != FileKind::Pipe ||
      gets_on(thread, awaited)) {
    return std::nullopt;
  }
  const auto& [file, to_read] = awaited.files[0];
  return to_read ? reads(of, thread, file, awaited.with_time)
                 : writes(of, thread, file);
}

}  // namespace hangdbg::causes
