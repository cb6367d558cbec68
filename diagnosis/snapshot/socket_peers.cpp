#include "diagnosis/snapshot/socket_peers.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace hangdbg {
namespace {

// Each is read by a thread of hangdbg that enters it.
constexpr std::size_t kMostPeerNetworks = 64;

bool is_other_end(const TcpSocket& one, const TcpSocket& ours) {
  return one.local == ours.remote && one.remote == ours.local;
}

bool same_host(const SocketAddress& one, const SocketAddress& other) {
  return one.bytes == other.bytes;
}

// Of the candidates, those that are bound to that very address.
std::vector<const TcpSocket*> bound_to(const std::vector<TcpSocket>& sockets,
                                       const SocketAddress& address,
                                       TcpState state,
                                       bool any_address) {
  std::vector<const TcpSocket*> exact, general;
  for (const TcpSocket& one : sockets) {
    if (one.state != state || one.local.port != address.port) {
      continue;
    }
    if (same_host(one.local, address)) {
      exact.push_back(&one);
    } else if (any_address && one.local.is_any()) {
      general.push_back(&one);
    }
  }
  if (!exact.empty()) {
    return exact;
  }
  // A socket on all IPv6 addresses takes what none on all IPv4 addresses does.
  std::vector<const TcpSocket*> same;
  std::ranges::copy_if(general, std::back_inserter(same),
                       [&](const TcpSocket* one) {
                         return one->local.is_v4() == address.is_v4();
                       });
  return same.empty() ? general : same;
}

}  // namespace

std::optional<TcpSocket> SocketTables::tcp(int pid, std::uint64_t inode) {
  const auto& sockets = tcp_of(pid).sockets;
  const auto found = std::ranges::find(sockets, inode, &TcpSocket::inode);
  return found == sockets.end() ? std::nullopt : std::optional(*found);
}

std::vector<TcpSocket> SocketTables::tcp_of_process(int pid) {
  const auto own = socket_descriptors(pid);
  std::vector<TcpSocket> found;
  for (const TcpSocket& one : tcp_of(pid).sockets) {
    if (own && own->contains(one.inode)) {
      found.push_back(one);
    }
  }
  return found;
}

std::optional<TcpSocket> SocketTables::udp(int pid, std::uint64_t inode) {
  const auto& sockets = udp_of(pid).sockets;
  const auto found = std::ranges::find(sockets, inode, &TcpSocket::inode);
  return found == sockets.end() ? std::nullopt : std::optional(*found);
}

std::optional<SocketPeer> SocketTables::tcp_peer(int pid,
                                                 const TcpSocket& socket) {
  std::vector<int> networks = {pid};
  for (bool own = true;; own = false) {
    for (const int at : networks) {
      const TcpSockets& there = tcp_of(at);
      for (const TcpSocket& one : there.sockets) {
        if (one.inode != socket.inode && is_other_end(one, socket)) {
          return held(
              {.inodes = {one.inode}, .unread = one.unread, .user = one.user});
        }
      }
      const auto waits = std::ranges::find_if(
          there.not_accepted,
          [&](const TcpSocket& one) { return is_other_end(one, socket); });
      const bool seen = waits != there.not_accepted.end();
      auto peer = seen || own ? waiting_tcp(at, socket, seen) : std::nullopt;
      if (peer && seen) {
        peer->unread = waits->unread;
      }
      if (peer && (seen || peer->is_full())) {
        return peer;
      }
    }
    if (!own || socket.remote.is_loopback()) {
      return std::nullopt;
    }
    networks = other_networks(pid);
  }
}

// The owner of the accept queue that has the connection, or would have it.
std::optional<SocketPeer> SocketTables::waiting_tcp(int pid,
                                                    const TcpSocket& ours,
                                                    bool seen_there) {
  const bool of_this_machine = seen_there || ours.remote.is_loopback() ||
                               same_host(ours.local, ours.remote);
  auto listening = bound_to(tcp_of(pid).sockets, ours.remote, TcpState::Listen,
                            of_this_machine);
  if (seen_there) {
    // With SO_REUSEPORT there are several listeners, each with its own queue.
    const auto has_none = [](const TcpSocket* one) { return one->unread == 0; };
    if (!std::ranges::all_of(listening, has_none)) {
      std::erase_if(listening, has_none);
    }
  }
  if (listening.empty()) {
    return std::nullopt;
  }
  SocketPeer peer{.accepted = false,
                  .name = listening.front()->local.text(),
                  .user = listening.front()->user};
  for (const TcpSocket* const one : listening) {
    peer.inodes.push_back(one->inode);
    peer.waiting += one->unread;
    if (one->progress) {  // else it is unknown
      peer.room = peer.room.value_or(0) + one->unacknowledged;
    }
  }
  return held(std::move(peer));
}

std::optional<SocketPeer> SocketTables::udp_peer(int pid,
                                                 const TcpSocket& socket) {
  const bool of_this_machine =
      socket.remote.is_loopback() || same_host(socket.local, socket.remote);
  const auto bound = bound_to(udp_of(pid).sockets, socket.remote,
                              TcpState::Close, of_this_machine);
  if (bound.empty()) {
    return std::nullopt;
  }
  SocketPeer peer{.name = bound.front()->local.text(),
                  .unread = bound.front()->unread,
                  .user = bound.front()->user};
  for (const TcpSocket* const one : bound) {
    peer.inodes.push_back(one->inode);
  }
  return held(std::move(peer));
}

// A socket of a path may have been made in another network namespace.
std::optional<SocketPeer> SocketTables::unix_peer(int pid,
                                                  std::uint64_t inode) {
  const auto& own = unix_of(pid);
  const auto socket = std::ranges::find(own, inode, &UnixSocket::inode);
  if (socket == own.end() || socket->listens) {
    return std::nullopt;
  }
  std::vector<int> networks = {pid};
  if (socket->peer == 0 && socket->connected) {
    std::ranges::copy(other_networks(pid), std::back_inserter(networks));
  }
  for (const int at : networks) {
    for (const UnixSocket& one : unix_of(at)) {
      if (socket->peer != 0 && one.inode == socket->peer) {
        return held({.inodes = {one.inode},
                     .name = one.name,
                     .unread = one.unread.value_or(0),
                     .unread_told = one.unread.has_value()});
      }
      if (std::ranges::find(one.waiting, inode) != one.waiting.end()) {
        return held({.inodes = {one.inode},
                     .accepted = false,
                     .waiting = one.unread.value_or(0),
                     .room = one.unsent,
                     .name = one.name});
      }
    }
  }
  return socket->peer == 0 ? std::nullopt
                           : std::optional(held({.inodes = {socket->peer},
                                                 .unread_told = false}));
}

std::optional<SocketPeer> SocketTables::unix_server(int pid,
                                                    const std::string& name) {
  std::vector<int> networks = {pid};
  if (!name.starts_with('@')) {
    std::ranges::copy(other_networks(pid), std::back_inserter(networks));
  }
  for (const int at : networks) {
    for (const UnixSocket& one : unix_of(at)) {
      if (one.name == name && (one.listens || !one.connected)) {
        return held({.inodes = {one.inode},
                     .accepted = false,
                     .waiting = one.listens ? one.unread.value_or(0) : 0,
                     .room = one.listens ? one.unsent : std::nullopt,
                     .name = one.name,
                     .unread = one.listens ? 0 : one.unread.value_or(0)});
      }
    }
  }
  return std::nullopt;
}

SocketPeer SocketTables::held(SocketPeer peer) {
  for (const std::uint64_t inode : peer.inodes) {
    const auto [begin, end] = all().by_inode.equal_range(inode);
    for (auto holder = begin; holder != end; ++holder) {
      peer.holders.push_back(holder->second);
    }
  }
  peer.all_seen = all().unseen == 0;
  return peer;
}

const TcpSockets& SocketTables::tcp_of(int pid) {
  const auto network = network_namespace(pid).value_or(0);
  const auto [at, fresh] = tcp_.try_emplace(network);
  if (fresh) {
    auto read = read_tcp_sockets(pid, deadline_);
    if (read) {
      at->second = *std::move(read);
    } else {
      skipped_.push_back(fmt::format("TCP connections of process {}: {}", pid,
                                     read.error().text()));
    }
  }
  return at->second;
}

const TcpSockets& SocketTables::udp_of(int pid) {
  const auto network = network_namespace(pid).value_or(0);
  const auto [at, fresh] = udp_.try_emplace(network);
  if (fresh) {
    at->second = read_udp_sockets(pid, deadline_).value_or(TcpSockets());
  }
  return at->second;
}

const std::vector<UnixSocket>& SocketTables::unix_of(int pid) {
  const auto network = network_namespace(pid).value_or(0);
  const auto [at, fresh] = unix_.try_emplace(network);
  if (fresh) {
    auto read = read_unix_sockets(pid, deadline_);
    at->second = read ? std::move(read->sockets) : std::vector<UnixSocket>();
  }
  return at->second;
}

const AllSockets& SocketTables::all() {
  if (!all_) {
    all_ = read_all_sockets(deadline_);
  }
  return *all_;
}

std::vector<int> SocketTables::other_networks(int pid) {
  const auto own = network_namespace(pid).value_or(0);
  std::vector<int> others;
  for (const auto& [network, of] : all().networks) {
    if (network != own && others.size() < kMostPeerNetworks) {
      others.push_back(of);
    }
  }
  return others;
}

}  // namespace hangdbg
