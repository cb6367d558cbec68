// A thread that retries for a resource that is used up: no descriptor, no room
// on a disk, no new process.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/sizes.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_files.h"
#include "diagnosis/waits/sleep_loop.h"
#include "inspector/host/host_context.h"

namespace hangdbg::causes {
namespace {

// Connections not accepted yet, on all ports at which it listens.
std::int64_t waiting_connections(const ProcessSnapshot& of) {
  constexpr std::size_t kMost = 20000;
  std::int64_t waiting = 0;
  const auto open = read_open_files(of.pid);
  std::size_t seen = 0;
  for (const OpenFile& file : open ? open->files : std::vector<OpenFile>()) {
    if (file.kind != FileKind::Socket || ++seen > kMost) {
      continue;
    }
    const auto socket = of.system.tcp_socket(of.pid, file.inode);
    if (socket && socket->state == TcpState::Listen) {
      waiting += socket->unread;
    }
  }
  return waiting;
}

void blame(Cause& cause, CauseId id, std::string what) {
  cause.id = id;
  cause.progress = Progress::Blocked;
  cause.confidence = Confidence::Likely;
  cause.summary = fmt::format("{}: it {}", std::move(what), cause.summary);
}

// It tries in a loop that ends with what it wants; or it sleeps between rounds,
// and each of them calls one of those.
bool retries(const ProcessSnapshot& of,
             const ThreadSnapshot& thread,
             const Cause& cause,
             std::span<const std::string_view> functions) {
  if (cause.id != CauseId::Sleeps) {
    return cause.id == CauseId::Polls || cause.id == CauseId::BusyLoop;
  }
  const auto loop = sleep_loop(of, thread);
  return loop && std::ranges::any_of(loop->around.work, [&](const auto& call) {
           const std::string_view callee = call.callee;
           return std::ranges::find(functions,
                                    callee.substr(callee.rfind('.') + 1)) !=
                  functions.end();
         });
}

}  // namespace

void refine_by_descriptors(const ProcessSnapshot& of,
                           const ThreadSnapshot& thread,
                           Cause& cause) {
  const bool serves =
      cause.id == CauseId::Runs ||
      (cause.progress == Progress::Idle && awaited_files(of, thread).any);
  constexpr std::array<std::string_view, 12> kOpen = {
      "accept", "connect",    "create_connection",
      "dup",    "mkstemp",    "open",
      "pipe",   "Popen",      "run",
      "socket", "socketpair", "urlopen"};
  if (!serves && !retries(of, thread, cause, kOpen)) {
    return;
  }
  const Limits& limits = of.system.around(of.pid).limits;
  const auto most = limits.at_most.open_files;
  if (!most || limits.open_files < *most) {
    return;
  }
  const std::int64_t waiting = waiting_connections(of);
  if (serves && waiting == 0) {
    return;
  }
  blame(cause, CauseId::DescriptorsUsedUp,
        fmt::format("has all its {} descriptors open{}", *most,
                    waiting > 0
                        ? fmt::format(", so that {} connection{} not accepted",
                                      waiting, waiting == 1 ? " is" : "s are")
                        : ""));
  if (waiting > 0) {
    cause.progress = Progress::Stuck;
    cause.confidence = Confidence::Certain;
  }
  cause.evidence.push_back(
      fmt::format("{} descriptors are open, the limit is "
                  "{} (RLIMIT_NOFILE)",
                  limits.open_files, *most));
  cause.next = {{fmt::format("hangdbg fds {}", of.pid), "what they all are"},
                {fmt::format("prlimit --pid {} --nofile={}", of.pid, *most * 4),
                 "more of them, while it runs"}};
}

void refine_by_full_disk(const ProcessSnapshot& of,
                         const ThreadSnapshot& thread,
                         Cause& cause) {
  constexpr std::array<std::string_view, 9> kWrite = {
      "copy", "dump",  "flush",      "fsync",     "print",
      "save", "write", "write_text", "writelines"};
  if (!retries(of, thread, cause, kWrite)) {
    return;
  }
  const auto& systems = of.system.around(of.pid).file_systems;
  const auto full = std::ranges::find_if(systems, [](const FileSystem& one) {
    return one.is_full() && (!one.use.empty() || one.point == "/dev/shm");
  });
  if (full == systems.end()) {
    return;
  }
  blame(cause, CauseId::DiskFull,
        fmt::format("finds no room on {}, which is full", full->point));
  cause.evidence.push_back(fmt::format(
      "{} ({}): {} of {} are left, {} of {} files; {}", full->point, full->type,
      human_size(full->bytes_left), human_size(full->bytes), full->files_left,
      full->files,
      full->use.empty() ? "shared memory is made there"
                        : "it is open to write there: " + full->use));
  cause.next = {{fmt::format("df -h {0}; df -i {0}", full->point),
                 "how full it is, in that process's mounts"}};
}

void refine_by_process_limit(const ProcessSnapshot& of,
                             const ThreadSnapshot& thread,
                             Cause& cause) {
  constexpr std::array<std::string_view, 7> kBegin = {
      "fork", "Popen", "Process", "run", "start", "submit", "Thread"};
  if (!retries(of, thread, cause, kBegin)) {
    return;
  }
  const HostContext& around = of.system.around(of.pid);
  const auto& pids = around.cgroup.pids;
  const auto most = around.limits.at_most.processes;
  const auto used = around.limits.user_threads;
  if (pids && pids->max && pids->current >= *pids->max) {
    blame(cause, CauseId::ProcessLimit,
          fmt::format("can begin no process or thread, as its cgroup has all "
                      "{} that it may have",
                      *pids->max));
    cause.evidence.push_back(
        fmt::format("{}: pids.current {}, pids.max {}, refused {} times",
                    pids->folder, pids->current, *pids->max, pids->refused));
    cause.next = {
        {fmt::format("echo {} > {}/pids.max", *pids->max * 4, pids->folder),
         "it may begin more"}};
  } else if (most && used && *used >= *most) {
    blame(cause, CauseId::ProcessLimit,
          fmt::format("can begin no process or thread, as its user has all {} "
                      "that he may have",
                      *most));
    cause.evidence.push_back(
        fmt::format("its user has {} threads, the limit is {} (RLIMIT_NPROC)",
                    *used, *most));
    cause.next = {
        {fmt::format("prlimit --pid {} --nproc={}", of.pid, *most * 4),
         "more of them, while it runs"}};
  }
}

}  // namespace hangdbg::causes
