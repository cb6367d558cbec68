#include "diagnosis/snapshot/system_snapshot.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/parallel_map.h"
#include "base/text.h"
#include "diagnosis/snapshot/process_snapshot.h"
#include "inspector/cpython/runtime/python_process.h"
#include "inspector/host/host_context.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {

SystemSnapshot::SystemSnapshot(Deadline deadline)
    : deadline_(deadline), sockets_(deadline) {}

std::shared_ptr<SystemSnapshot> SystemSnapshot::make(Deadline deadline) {
  return std::shared_ptr<SystemSnapshot>(new SystemSnapshot(deadline));
}

SystemSnapshot::~SystemSnapshot() = default;

const ProcessSnapshot* SystemSnapshot::snapshot(int pid) {
  if (!cases_.contains(pid)) {
    take_snapshots({pid});
  }
  return cases_.at(pid).get();
}

Result<const ProcessSnapshot*> SystemSnapshot::snapshot_before(
    int pid,
    Deadline deadline) {
  std::optional<Error> why;
  std::vector<int> fresh;
  if (!cases_.contains(pid)) {
    fresh.push_back(pid);
  }
  parallel_map<std::unique_ptr<ProcessSnapshot>>(
      fresh, deadline,
      [this, kept = shared_from_this()](int of) {
        return ProcessSnapshot::open(of, *this, ProcessSnapshot::Memory::Read);
      },
      [&](int of, Made made) {
        if (made && !*made) {
          why = made->error();
        }
        add(of, std::move(made));
      });
  if (const ProcessSnapshot* const its = cases_.at(pid).get()) {
    return its;
  }
  return std::unexpected(why ? *why : not_read_in_time(pid));
}

void SystemSnapshot::take_snapshots(const std::vector<int>& pids) {
  std::vector<int> fresh;
  std::ranges::copy_if(pids, std::back_inserter(fresh),
                       [&](int pid) { return !cases_.contains(pid); });
  // An abandoned reader may still be at work. This leaves time to read what the
  // kernel knows about its target.
  constexpr std::chrono::milliseconds kEnough{2700};  // for a busy machine
  const auto left = deadline_.left();
  const auto time = std::max<Deadline::Clock::duration>(
      left / 6, std::min<Deadline::Clock::duration>(left / 3, kEnough));
  parallel_map<std::unique_ptr<ProcessSnapshot>>(
      fresh, deadline_.capped(time),
      [this, kept = shared_from_this()](int pid) {
        return ProcessSnapshot::open(pid, *this, ProcessSnapshot::Memory::Read);
      },
      [&](int pid, Made made) { add(pid, std::move(made)); });
}

void SystemSnapshot::look_anew() {
  cases_.clear();
  skipped_.clear();
  pipes_.reset();
  unseen_ = 0;
  locks_.reset();
  children_.reset();
  sockets_ = SocketTables(deadline_);
}

// Empty: it was not read in time.
void SystemSnapshot::add(int pid, Made made) {
  if (!made) {
    skipped_.push_back(fmt::format(
        "process {}: its memory does not answer; only what the kernel says "
        "of it was read",
        pid));
    made = ProcessSnapshot::open(pid, *this, ProcessSnapshot::Memory::Left);
  }
  std::unique_ptr<ProcessSnapshot>& into = cases_[pid];
  if (*made) {
    into = **std::move(made);
  } else {
    skipped_.push_back(
        fmt::format("process {}: {}", pid, made->error().text()));
  }
}

std::vector<PipeEnd> SystemSnapshot::pipe_ends(std::uint64_t inode,
                                               std::uint64_t device) {
  if (!pipes_) {
    pipes_.emplace();
    const auto pids = list_processes();
    parallel_map<std::vector<PipeEnd>>(
        pids ? *pids : std::vector<int>(), deadline_,
        [](int pid) { return read_pipe_ends(pid); },
        [&](int, std::optional<Result<std::vector<PipeEnd>>> ends) {
          if (!ends ||
              (!*ends && (*ends).error().id != ErrorId::NoSuchProcess)) {
            ++unseen_;
            return;
          }
          for (const PipeEnd& end : *ends ? **ends : std::vector<PipeEnd>()) {
            pipes_->emplace(end.inode, end);
          }
        });
    if (unseen_ > 0) {
      skipped_.push_back(fmt::format(
          "of {} processes it could not be seen which pipes they have",
          unseen_));
    }
  }
  std::vector<PipeEnd> found;
  const auto [begin, end] = pipes_->equal_range(inode);
  for (auto at = begin; at != end; ++at) {
    if (at->second.device == device) {
      found.push_back(at->second);
    }
  }
  return found;
}

const std::vector<FileLock>& SystemSnapshot::file_locks() {
  if (!locks_) {
    auto read = read_file_locks();
    if (!read) {
      skipped_.push_back(read.error().text());
    }
    locks_ = std::move(read).value_or(std::vector<FileLock>());
  }
  return *locks_;
}

std::optional<TcpSocket> SystemSnapshot::tcp_socket(int pid,
                                                    std::uint64_t inode) {
  auto found = sockets_.tcp(pid, inode);
  for (std::string& one : sockets_.take_skipped()) {
    skipped_.push_back(std::move(one));
  }
  return found;
}

std::vector<TcpSocket> SystemSnapshot::tcp_connections(int pid) {
  return sockets_.tcp_of_process(pid);
}

std::optional<TcpSocket> SystemSnapshot::udp_socket(int pid,
                                                    std::uint64_t inode) {
  return sockets_.udp(pid, inode);
}

std::optional<SocketPeer> SystemSnapshot::tcp_peer(int pid,
                                                   const TcpSocket& socket) {
  return sockets_.tcp_peer(pid, socket);
}

std::optional<SocketPeer> SystemSnapshot::udp_peer(int pid,
                                                   const TcpSocket& socket) {
  return sockets_.udp_peer(pid, socket);
}

std::optional<SocketPeer> SystemSnapshot::unix_peer(int pid,
                                                    std::uint64_t inode) {
  return sockets_.unix_peer(pid, inode);
}

std::optional<SocketPeer> SystemSnapshot::unix_server(int pid,
                                                      const std::string& name) {
  return sockets_.unix_server(pid, name);
}

const std::multimap<int, int>& SystemSnapshot::children() {
  if (!children_) {
    children_ = children_by_parent().value_or(std::multimap<int, int>());
  }
  return *children_;
}

const HostContext& SystemSnapshot::around(int pid) {
  constexpr auto kMost = std::chrono::seconds(1);
  std::unique_ptr<HostContext>& one = host_contexts_[pid];
  if (!one) {
    auto read = read_host_context(pid, Depth::Quick, deadline_.capped(kMost));
    one = std::make_unique<HostContext>(read ? *std::move(read)
                                             : HostContext{.pid = pid});
  }
  return *one;
}

}  // namespace hangdbg
