#include "diagnosis/snapshot/world.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/in_parallel.h"
#include "base/text.h"
#include "diagnosis/snapshot/case.h"
#include "inspector/cpython/runtime/inspected_process.h"
#include "inspector/host/surroundings.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {

World::World(Deadline deadline) : deadline_(deadline) {}

std::shared_ptr<World> World::make(Deadline deadline) {
  return std::shared_ptr<World>(new World(deadline));
}

World::~World() = default;

const Case* World::look_at(int pid) {
  if (!cases_.contains(pid)) {
    look_at_all({pid});
  }
  return cases_.at(pid).get();
}

Result<const Case*> World::look_in_time(int pid, Deadline deadline) {
  std::optional<Error> why;
  std::vector<int> fresh;
  if (!cases_.contains(pid)) {
    fresh.push_back(pid);
  }
  in_parallel<std::unique_ptr<Case>>(
      fresh, deadline,
      [this, kept = shared_from_this()](int of) {
        return Case::open(of, *this, Case::Memory::Read);
      },
      [&](int of, Made made) {
        if (made && !*made) {
          why = made->error();
        }
        add(of, std::move(made));
      });
  if (const Case* const its = cases_.at(pid).get()) {
    return its;
  }
  return std::unexpected(why ? *why : not_read_in_time(pid));
}

void World::look_at_all(const std::vector<int>& pids) {
  std::vector<int> fresh;
  std::ranges::copy_if(pids, std::back_inserter(fresh),
                       [&](int pid) { return !cases_.contains(pid); });
  // Who is left behind may still be at it. Then there is time yet for what the
  // kernel says of it.
  constexpr std::chrono::milliseconds kEnough{2700};  // for a busy machine
  const auto left = deadline_.left();
  const auto time = std::max<Deadline::Clock::duration>(
      left / 6, std::min<Deadline::Clock::duration>(left / 3, kEnough));
  in_parallel<std::unique_ptr<Case>>(
      fresh, deadline_.capped(time),
      [this, kept = shared_from_this()](int pid) {
        return Case::open(pid, *this, Case::Memory::Read);
      },
      [&](int pid, Made made) { add(pid, std::move(made)); });
}

// Empty: it was not made in time.
void World::add(int pid, Made made) {
  if (!made) {
    skipped_.push_back(fmt::format(
        "process {}: its memory does not answer; only what the kernel says "
        "of it was read",
        pid));
    made = Case::open(pid, *this, Case::Memory::Left);
  }
  std::unique_ptr<Case>& into = cases_[pid];
  if (*made) {
    into = **std::move(made);
  } else {
    skipped_.push_back(
        fmt::format("process {}: {}", pid, made->error().text()));
  }
}

std::vector<PipeEnd> World::pipe_ends(std::uint64_t inode) {
  if (!pipes_) {
    pipes_.emplace();
    const auto pids = list_processes();
    in_parallel<std::vector<PipeEnd>>(
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
    found.push_back(at->second);
  }
  return found;
}

const std::vector<FileLock>& World::file_locks() {
  if (!locks_) {
    auto read = read_file_locks();
    if (!read) {
      skipped_.push_back(read.error().text());
    }
    locks_ = std::move(read).value_or(std::vector<FileLock>());
  }
  return *locks_;
}

const std::vector<TcpSocket>& World::tcp_sockets(int pid) {
  const auto network = network_namespace(pid).value_or(0);
  const auto [at, fresh] = sockets_.try_emplace(network);
  if (fresh) {
    auto read = read_tcp_sockets(pid, deadline_);
    if (read) {
      at->second = std::move(read->sockets);
    } else {
      skipped_.push_back(fmt::format("TCP connections of process {}: {}", pid,
                                     read.error().text()));
    }
  }
  return at->second;
}

std::optional<TcpSocket> World::tcp_socket(int pid, std::uint64_t inode) {
  for (const TcpSocket& socket : tcp_sockets(pid)) {
    if (socket.inode == inode) {
      return socket;
    }
  }
  return {};
}

std::optional<std::vector<int>> World::unix_peers(int pid,
                                                  std::uint64_t inode) {
  const auto network = network_namespace(pid).value_or(0);
  const auto [at, fresh] = unix_sockets_.try_emplace(network);
  if (fresh) {
    auto read = read_unix_sockets(pid, deadline_);
    at->second = read ? std::move(read->sockets) : std::vector<UnixSocket>();
  }
  const auto socket = std::ranges::find(at->second, inode, &UnixSocket::inode);
  if (socket == at->second.end() || socket->listens || socket->peer == 0) {
    return std::nullopt;
  }
  if (!all_sockets_) {
    all_sockets_ = read_all_sockets(deadline_);
  }
  std::vector<int> pids;
  const auto [begin, end] = all_sockets_->by_inode.equal_range(socket->peer);
  for (auto holder = begin; holder != end; ++holder) {
    pids.push_back(holder->second.pid);
  }
  return pids;
}

const std::multimap<int, int>& World::children() {
  if (!children_) {
    children_ = children_by_parent().value_or(std::multimap<int, int>());
  }
  return *children_;
}

const Surroundings& World::around(int pid) {
  constexpr auto kMost = std::chrono::seconds(1);
  std::unique_ptr<Surroundings>& one = surroundings_[pid];
  if (!one) {
    auto read = read_surroundings(pid, Depth::Quick, deadline_.capped(kMost));
    one = std::make_unique<Surroundings>(read ? *std::move(read)
                                              : Surroundings{.pid = pid});
  }
  return *one;
}

}  // namespace hangdbg
