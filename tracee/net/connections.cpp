#include "tracee/net/connections.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace hangdbg {
namespace {

// What one network namespace has, by inode.
struct Listed {
  Result<TcpSockets> listed;
  std::unordered_map<std::uint64_t, const TcpSocket*> by_inode;

  explicit Listed(Result<TcpSockets> sockets) : listed(std::move(sockets)) {
    if (listed) {
      for (const TcpSocket& socket : listed->sockets) {
        by_inode.emplace(socket.inode, &socket);
      }
    }
  }
  Listed(const Listed&) = delete;
};

Result<Connections> connections_of(int pid,
                                   std::map<std::uint64_t, Listed>& networks,
                                   Deadline deadline) {
  Connections found{.network = TRY(network_namespace(pid))};
  const auto descriptors = TRY(socket_descriptors(pid));
  auto network = networks.find(found.network);
  if (network == networks.end()) {
    network =
        networks.try_emplace(found.network, read_tcp_sockets(pid, deadline))
            .first;
  }
  const Listed& all = network->second;
  if (!all.listed) {
    return std::unexpected(all.listed.error());
  }
  found.complete = all.listed->complete;
  found.why_no_progress = all.listed->why_no_progress;
  for (const auto& [inode, fd] : descriptors) {
    const auto socket = all.by_inode.find(inode);
    if (socket != all.by_inode.end()) {
      found.connections.push_back({fd, *socket->second});
    }
  }
  std::ranges::sort(found.connections, {}, &Connection::fd);
  return found;
}

}  // namespace

std::map<int, Result<Connections>> read_connections(
    const std::vector<int>& pids,
    Deadline deadline) {
  std::map<std::uint64_t, Listed> networks;
  std::map<int, Result<Connections>> found;
  for (const int pid : pids) {
    found.try_emplace(pid, connections_of(pid, networks, deadline));
  }
  return found;
}

}  // namespace hangdbg
