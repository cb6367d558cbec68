// A pipe, with a path (a FIFO) or without: its other end is not read, or no
// process is left that could write.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/socket_peer.h"
#include "diagnosis/waits/awaited_files.h"
#include "diagnosis/waits/pipe_holders.h"
#include "diagnosis/waits/waits_inside.h"
#include "inspector/cpython/stacks/thread_names.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

constexpr std::size_t kMostNamed = 3;

std::string process_names(const std::vector<PipeHolder>& processes) {
  std::string names;
  const std::size_t named = std::min(processes.size(), kMostNamed);
  for (std::size_t i = 0; i < named; ++i) {
    names += (i > 0 ? ", " : "") + process_text(processes[i].pid);
  }
  return processes.size() > named
             ? fmt::format("{} and {} more", names, processes.size() - named)
             : names;
}

std::string name_of(const OpenFile& pipe) {
  return pipe.kind == FileKind::Fifo ? "the FIFO " + printable(pipe.name)
                                     : "a pipe";
}

// Any process can still open it: nothing about it is final.
bool can_be_opened(const OpenFile& pipe) {
  return pipe.kind == FileKind::Fifo && !pipe.deleted;
}

void tell_holders(const ProcessSnapshot& of,
                  const PipeHolders& holders,
                  bool writers,
                  Cause& cause) {
  for (std::size_t i = 0; i < std::min(holders.others.size(), kMostNamed);
       ++i) {
    cause.evidence.push_back(
        describe_holder(of.system, holders.others[i], writers));
  }
  if (!holders.own.empty() && !holders.others.empty()) {
    cause.evidence.push_back(
        fmt::format("this process itself has the {} end open, too, as fd {}{}",
                    writers ? "write" : "read", holders.own.front(),
                    writers ? ", so it never sees the end of the pipe" : ""));
  }
}

NextStep read_descriptors(int pid) {
  return {fmt::format("hangdbg fds {}", pid),
          "all its pipes, and the owners of the other ends"};
}

// Threads without Python that share the descriptors: what they will do is
// unknown.
std::size_t library_threads(const ProcessSnapshot& of, ThreadId but) {
  return static_cast<std::size_t>(
      std::ranges::count_if(of.threads, [&](const ThreadSnapshot& one) {
        return one.id != but && !one.python && !is_agents_name(one.wait.name);
      }));
}

std::string threads_of_libraries(std::size_t count, const char* might) {
  return fmt::format("{} of libraries {} here as well, and might {}",
                     count == 1 ? "a thread" : fmt::format("{} threads", count),
                     count == 1 ? "is" : "are", might);
}

// A signal handler or another thread wakes a loop by a pipe to itself.
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

// The child whose output subprocess reads in this thread, if that has ended:
// every process that has its output open outlived it.
std::optional<int> ended_child(const ProcessSnapshot& of,
                               const ThreadSnapshot& thread) {
  if (!of.is_python()) {
    return {};
  }
  for (const char* const function : {"_communicate", "communicate"}) {
    const PythonFrame* const frame = thread.find(function, "/subprocess.py", 6);
    const auto pid = frame != nullptr ? of.number(*frame, "self.pid")
                                      : std::optional<std::int64_t>();
    if (pid) {
      const ProcessSnapshot* const child =
          of.system.snapshot(static_cast<int>(*pid));
      return child == nullptr || child->status.state == 'Z'
                 ? std::optional(static_cast<int>(*pid))
                 : std::nullopt;
    }
  }
  return {};
}

// The holders are orphans of a child that has ended: a shell's background
// processes, for example.
bool outlived(const ProcessSnapshot& of, const PipeHolders& writers) {
  const auto& children = of.system.children();
  const auto [begin, end] = children.equal_range(of.pid);
  const auto [orphan, last] = children.equal_range(1);
  return of.pid != 1 &&
         std::any_of(begin, end,
                     [&](const auto& child) {
                       const ProcessSnapshot* const its =
                           of.system.snapshot(child.second);
                       return its != nullptr && its->status.state == 'Z';
                     }) &&
         std::ranges::all_of(writers.others, [&](const PipeHolder& one) {
           return std::any_of(orphan, last, [&](const auto& child) {
             return child.second == one.pid;
           });
         });
}

// Other processes have it open, and might write.
void reads_from_others(const ProcessSnapshot& of,
                       const ThreadSnapshot& thread,
                       const OpenFile& pipe,
                       const PipeHolders& writers,
                       std::optional<int> child,
                       Cause& cause) {
  const std::string names = process_names(writers.others);
  const bool queue =
      std::ranges::any_of(thread.frames(), [](const PythonFrame& frame) {
        return frame.file.ends_with("/multiprocessing/queues.py");
      });
  const std::string what = queue ? "a queue" : name_of(pipe);
  cause.summary = fmt::format("waits for what {} writes into {}", names, what);
  cause.blocked_by = writers.mains();
  cause.any_unblocks = true;
  if (!writers.all_single) {
    // Another thread than main may be the writer.
    cause.confidence = Confidence::Possible;
  }
  tell_holders(of, writers, /*writers=*/true, cause);
  if (child) {
    cause.summary = fmt::format(
        "waits for the end of the output of process {}, which has ended: {} "
        "still {} it open",
        *child, names, writers.others.size() == 1 ? "has" : "have");
    cause.confidence = Confidence::Certain;
    cause.blocks_others = true;
    for (std::size_t i = 0; i < std::min(writers.others.size(), kMostNamed);
         ++i) {
      const int pid = writers.others[i].pid;
      if (!is_descendant(of.system, pid, of.pid)) {
        cause.evidence.push_back(
            fmt::format("the parent of process {} has ended", pid));
      }
    }
    return;
  }
  if (outlived(of, writers)) {
    cause.blocks_others = true;
    cause.evidence.push_back(fmt::format(
        "a child of this process has ended, and process {} is a child of "
        "process 1",
        writers.others.front().pid));
    return;
  }
  if (std::ranges::all_of(writers.others, &PipeHolder::not_passed)) {
    cause.summary = fmt::format(
        "waits for {} whose write end is open only in {}{}, which inherited it",
        what, writers.own.empty() ? "" : "itself and in ", names);
    cause.evidence.push_back(
        "multiprocessing has passed no connection to their targets");
    cause.blocks_others = true;
  }
}

Cause reads(const ProcessSnapshot& of,
            const ThreadSnapshot& thread,
            const OpenFile& pipe,
            bool with_time,
            std::optional<int> child) {
  const PipeHolders writers = pipe_holders(of, pipe, /*writers=*/true);
  const bool own = !writers.own.empty();
  Cause cause{.id = CauseId::PipeRead,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely};
  cause.evidence.push_back(fmt::format("reads fd {}, {}, at {}", pipe.fd,
                                       printable(pipe.name), thread.place()));
  const bool queue =
      !thread.frames().empty() &&
      thread.frames()[0].file.find("/multiprocessing/") != std::string::npos;
  const bool handled = of.handles_signals();
  const bool all_seen = of.system.saw_all_pipes();
  if (!writers.others.empty()) {
    if (all_seen && !handled && !can_be_opened(pipe) &&
        all_read_it(of, pipe, writers)) {
      cause.id = CauseId::WriterGone;
      cause.progress = Progress::Stuck;
      cause.confidence = Confidence::Certain;
      cause.summary = fmt::format(
          "waits for {} that nobody writes into any more: all who have its "
          "write end open read from it, {}",
          name_of(pipe), process_names(writers.others));
      tell_holders(of, writers, /*writers=*/true, cause);
    } else {
      reads_from_others(of, thread, pipe, writers, child, cause);
    }
    cause.next.push_back(read_descriptors(of.pid));
    return cause;
  }
  if (!all_seen) {
    cause.summary =
        fmt::format("waits for {}, and its writers cannot be seen from here",
                    name_of(pipe));
    return cause;
  }
  if (can_be_opened(pipe)) {
    // A reader with an end of its own sees no end of file between two writers:
    // one way to take commands.
    cause.progress = own ? Progress::Idle : Progress::Blocked;
    cause.summary =
        fmt::format("waits for who opens {} to write into it", name_of(pipe));
    cause.evidence.push_back(
        own ? fmt::format("no other process has it open to write; this one "
                          "has, as fd {}",
                          writers.own.front())
            : "no process has it open to write");
    return cause;
  }
  if (own && !queue && thread.wait.syscall != "read" &&
      (with_time || handled)) {
    return wakes_itself(thread, pipe);
  }
  const bool alone = of.python_threads().size() <= 1;
  const std::size_t of_libraries = own ? library_threads(of, thread.id) : 0;
  cause.id = CauseId::WriterGone;
  cause.progress = Progress::Stuck;
  cause.confidence = !queue && !alone ? Confidence::Possible
                     : (own && handled) || of_libraries > 0
                         ? Confidence::Likely
                         : Confidence::Certain;
  if (!queue && !alone) {
    cause.id = CauseId::PipeRead;
    cause.progress = Progress::Blocked;
  }
  cause.summary = fmt::format(
      "waits for {} that nobody writes into any more: no other process has it "
      "open",
      queue ? "a queue" : name_of(pipe));
  cause.evidence.push_back(
      own ? fmt::format("only this process itself has the write end open, as "
                        "fd {}, so it never ends either",
                        writers.own.front())
          : "no process has the write end open");
  if (of_libraries > 0) {
    cause.evidence.push_back(threads_of_libraries(of_libraries, "write"));
  }
  cause.next.push_back(read_descriptors(of.pid));
  return cause;
}

Cause writes(const ProcessSnapshot& of,
             const ThreadSnapshot& thread,
             const OpenFile& pipe) {
  const PipeHolders readers = pipe_holders(of, pipe, /*writers=*/false);
  Cause cause{.id = CauseId::PipeFull,
              .progress = Progress::Blocked,
              .confidence = Confidence::Certain};
  cause.evidence.push_back(
      fmt::format("writes to fd {}, {}, which is full, at {}", pipe.fd,
                  printable(pipe.name), thread.place()));
  cause.summary =
      readers.others.empty()
          ? fmt::format(
                "writes into {} that is full, and that no other process reads",
                name_of(pipe))
          : fmt::format("writes into {} that is full: {} does not read it",
                        name_of(pipe), process_names(readers.others));
  cause.blocked_by = readers.mains();
  cause.any_unblocks = true;
  // A single idle reader is to blame; of one with threads, another may read. A
  // pool has more tasks at hand than its workers have begun, for any time.
  const bool of_pool =
      thread.find("_handle_tasks", "/multiprocessing/pool.py") != nullptr;
  cause.blocks_others = readers.all_single && !of_pool;
  if (of_pool) {
    cause.timeout_scale = kNoTimeTells;
  }
  if (!readers.all_single) {
    cause.confidence = Confidence::Possible;
  }
  const bool own = !readers.own.empty();
  tell_holders(of, readers, /*writers=*/false, cause);
  if (readers.others.empty() && own) {
    cause.evidence.push_back(
        fmt::format("only this process itself has the read end open, as fd {}",
                    readers.own.front()));
  }
  const auto threads = of.python_threads();
  const bool none_reads =
      std::ranges::all_of(threads, [&](const ThreadSnapshot* other) {
        return other->id == thread.id || waits_inside(of, *other);
      });
  cause.progress =
      readers.others.empty() && own && !can_be_opened(pipe) && none_reads
          ? Progress::Stuck
          : Progress::Blocked;
  if (threads.size() > 1 && cause.progress == Progress::Stuck) {
    cause.confidence = std::min(cause.confidence, Confidence::Likely);
    cause.evidence.push_back("its other threads wait for each other");
  }
  if (const std::size_t count = own ? library_threads(of, thread.id) : 0;
      count > 0 && cause.progress == Progress::Stuck) {
    cause.confidence = std::min(cause.confidence, Confidence::Likely);
    cause.evidence.push_back(threads_of_libraries(count, "read"));
  }
  cause.next.push_back(read_descriptors(of.pid));
  return cause;
}

// The caller of hangdbg reads its output: that is no wait of its own.
bool is_our_output(const ProcessSnapshot& of, const OpenFile& pipe) {
  return std::ranges::any_of(
      of.system.pipe_ends(pipe.inode, pipe.device), [](const PipeEnd& end) {
        const auto status =
            end.writes ? read_status(end.pid) : std::unexpected(Error());
        return status && (end.pid == ::getpid() || status->name == "hangdbg");
      });
}

// What communicate() waits for: the output and errors of a child. None if it
// also writes to the child.
const AwaitedFile* output_of_child(const ThreadSnapshot& thread,
                                   const AwaitedFiles& awaited) {
  const bool all =
      thread.find("_communicate", "/subprocess.py", 6) != nullptr &&
      std::ranges::all_of(awaited.files, [](const AwaitedFile& one) {
        return one.to_read && one.file.is_pipe();
      });
  return all ? &awaited.files.front() : nullptr;
}

}  // namespace

Found pipe(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  if (awaited.files.empty()) {
    return std::nullopt;
  }
  const AwaitedFile* const one = awaited.files.size() == 1
                                     ? &awaited.files.front()
                                     : output_of_child(thread, awaited);
  if (one == nullptr || !one->file.is_pipe() ||
      (awaited.files.size() > 1 && is_our_output(of, one->file))) {
    return std::nullopt;
  }
  Cause cause = one->to_read ? reads(of, thread, one->file, awaited.with_time,
                                     ended_child(of, thread))
                             : writes(of, thread, one->file);
  return gets_on(thread, awaited) ? of_one_that_gets_on(std::move(cause))
                                  : std::optional(std::move(cause));
}

Found pipe_of_loop(const ProcessSnapshot& of,
                   const ThreadSnapshot& thread,
                   const std::vector<AwaitedFile>& all,
                   std::optional<int> child) {
  if (all.size() == 1 && !all.front().to_read &&
      all.front().file.kind == FileKind::Pipe) {
    return writes(of, thread, all.front().file);
  }
  constexpr std::size_t kMostOutputs = 2;  // of a child
  if (all.empty() || all.size() > kMostOutputs ||
      !std::ranges::all_of(all, [](const AwaitedFile& one) {
        return one.to_read && one.file.kind == FileKind::Pipe;
      })) {
    return std::nullopt;
  }
  Cause cause = reads(of, thread, all.front().file, /*with_time=*/false, child);
  return cause.blocked_by.empty() ? std::nullopt
                                  : std::optional(std::move(cause));
}

}  // namespace hangdbg::causes
