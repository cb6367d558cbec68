#include "diagnosis/waits/awaited_files.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <span>

#include "diagnosis/waits/library_waits.h"
#include "tracee/memory/memory.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostFiles = 256;

void add_file(const ProcessSnapshot& of,
              int fd,
              bool to_read,
              bool to_write,
              AwaitedFiles& awaited) {
  if (awaited.files.size() < kMostFiles) {
    if (auto file = of.file(fd)) {
      awaited.files.push_back({*std::move(file), to_read, to_write});
    }
  }
}

void add_polled(const ProcessSnapshot& of,
                const TaskSyscall& call,
                AwaitedFiles& into) {
  const auto count = std::min<std::uint64_t>(call.args[1], kMostFiles);
  std::vector<pollfd> polled(count);
  if (!of.memory().read(Address{call.args[0]},
                        std::as_writable_bytes(std::span(polled)))) {
    return;
  }
  for (const pollfd& one : polled) {
    if (one.fd >= 0) {
      add_file(of, one.fd, (one.events & POLLIN) != 0,
               (one.events & POLLOUT) != 0, into);
    }
  }
}

// The descriptors to read, and those to write.
void add_selected(const ProcessSnapshot& of,
                  const TaskSyscall& call,
                  AwaitedFiles& into) {
  const auto count = std::min<std::uint64_t>(call.args[0], 4096);
  for (const bool to_read : {true, false}) {
    const Address set{call.args[to_read ? 1 : 2]};
    std::vector<std::uint64_t> words((count + 63) / 64);
    if (!set ||
        !of.memory().read(set, std::as_writable_bytes(std::span(words)))) {
      continue;
    }
    for (std::uint64_t fd = 0; fd < count; ++fd) {
      if ((words[fd / 64] >> fd % 64 & 1) != 0) {
        add_file(of, static_cast<int>(fd), to_read, !to_read, into);
      }
    }
  }
}

void add_watched(const ProcessSnapshot& of, int epoll, AwaitedFiles& into) {
  const auto set = of.file(epoll);
  for (const EpollWatch& watch :
       set ? set->watches : std::vector<EpollWatch>()) {
    add_file(of, watch.fd, (watch.events & EPOLLIN) != 0,
             (watch.events & EPOLLOUT) != 0, into);
  }
}

bool is_in_epoll(const ThreadSnapshot& thread) {
  return thread.wait.call.number == SYS_epoll_wait ||
         thread.wait.call.number == SYS_epoll_pwait;
}

bool wakes_itself_by(const ProcessSnapshot& of, const OpenFile& file) {
  const auto is_own = [&](const auto& holder) { return holder.pid == of.pid; };
  if (file.kind == FileKind::EventFd) {
    return true;
  }
  if (file.kind == FileKind::Pipe) {
    auto ends = of.system.pipe_ends(file.inode);
    std::erase_if(ends, [](const PipeEnd& end) { return !end.writes; });
    return !ends.empty() && std::ranges::all_of(ends, is_own);
  }
  if (file.kind != FileKind::Socket ||
      of.system.tcp_socket(of.pid, file.inode)) {
    return false;
  }
  const auto peer = of.system.unix_peer(of.pid, file.inode);
  return peer && peer->accepted && !peer->holders.empty() &&
         std::ranges::all_of(peer->holders, is_own);
}

AwaitedFiles files_of(const ProcessSnapshot& of, const TaskSyscall& call) {
  AwaitedFiles awaited;
  if (call.running) {
    return awaited;
  }
  constexpr std::array<long, 9> kReads = {
      SYS_read,   SYS_readv,   SYS_pread64, SYS_recvfrom, SYS_recvmsg,
      SYS_accept, SYS_accept4, SYS_preadv,  SYS_recvmmsg};
  constexpr std::array<long, 7> kWrites = {
      SYS_write,   SYS_writev,  SYS_pwrite64, SYS_sendto,
      SYS_sendmsg, SYS_connect, SYS_sendfile};
  awaited.any = true;
  const auto never = [](std::uint64_t millis) {
    return static_cast<std::int32_t>(millis) < 0;
  };
  if (std::ranges::find(kReads, call.number) != kReads.end()) {
    add_file(of, static_cast<int>(call.args[0]), true, false, awaited);
  } else if (std::ranges::find(kWrites, call.number) != kWrites.end()) {
    add_file(of, static_cast<int>(call.args[0]), false, true, awaited);
  } else if (call.number == SYS_poll || call.number == SYS_ppoll) {
    awaited.with_time =
        call.number == SYS_poll ? !never(call.args[2]) : call.args[2] != 0;
    add_polled(of, call, awaited);
  } else if (call.number == SYS_select || call.number == SYS_pselect6) {
    awaited.with_time = call.args[4] != 0;
    add_selected(of, call, awaited);
    awaited.any = call.args[0] > 0;
  } else if (call.number == SYS_epoll_wait || call.number == SYS_epoll_pwait) {
    awaited.with_time = !never(call.args[3]);
    add_watched(of, static_cast<int>(call.args[0]), awaited);
  } else {
    awaited.any = false;
  }
  return awaited;
}

// The descriptors are in its memory, which may have been freed since.
bool reads_memory(const TaskSyscall& call) {
  return call.number == SYS_poll || call.number == SYS_ppoll ||
         ((call.number == SYS_select || call.number == SYS_pselect6) &&
          call.args[0] > 0);
}

}  // namespace

AwaitedFiles awaited_files(const ProcessSnapshot& of,
                           const ThreadSnapshot& thread) {
  constexpr int kTries = 3;
  AwaitedFiles awaited = files_of(of, thread.wait.call);
  for (int i = 0; i < kTries && awaited.any && awaited.files.empty() &&
                  reads_memory(thread.wait.call);
       ++i) {
    const auto now = of.wait_now(thread.id.tid);
    if (!now || now->runs == thread.wait.runs) {
      break;
    }
    if (now->call.number == thread.wait.call.number && !now->call.running) {
      awaited = files_of(of, now->call);
    }
  }
  return awaited;
}

std::vector<AwaitedFile> awaited_from_others(const ProcessSnapshot& of,
                                             const AwaitedFiles& awaited) {
  std::vector<AwaitedFile> others;
  std::ranges::copy_if(
      awaited.files, std::back_inserter(others),
      [&](const AwaitedFile& one) { return !wakes_itself_by(of, one.file); });
  return others;
}

bool accepts_connections(const ProcessSnapshot& of, const OpenFile& file) {
  const auto socket = file.kind == FileKind::Socket && file.inode
                          ? of.system.tcp_socket(of.pid, file.inode)
                          : std::nullopt;
  return socket && socket->state == TcpState::Listen;
}

std::optional<AwaitedFile> only_connection(const ProcessSnapshot& of,
                                           const ThreadSnapshot& thread,
                                           const AwaitedFiles& awaited) {
  constexpr std::size_t kFew = 8;  // a server has more
  if (awaited.files.empty() || awaited.files.size() > kFew) {
    return std::nullopt;
  }
  std::vector<AwaitedFile> files = awaited.files;
  if (files.size() > 1 || is_in_epoll(thread)) {
    files = awaited_from_others(of, awaited);
    const bool others_rest = std::ranges::all_of(
        of.python_threads(), [&](const ThreadSnapshot* one) {
          return one == &thread || is_worker_loop(*one);
        });
    if (awaited.files.size() > 1 && (awaited.with_time || !others_rest)) {
      return std::nullopt;
    }
  }
  return files.size() == 1 && files.front().file.kind == FileKind::Socket
             ? std::optional(files.front())
             : std::nullopt;
}

bool gets_on(const ThreadSnapshot& thread, const AwaitedFiles& awaited) {
  return thread.ran && !awaited.with_time;
}

std::optional<Cause> of_one_that_gets_on(Cause cause) {
  if (cause.progress == Progress::Stuck) {
    return std::nullopt;
  }
  cause.evidence.push_back("it has gone on meanwhile, and waits again");
  return cause;
}

}  // namespace hangdbg
