// The other end of a socket, where it is on this machine: which processes hold
// it, or which listening socket has the connection in its accept queue.
//
// A TCP connection is told by its addresses, in the network namespace of the
// process, and in the others that can be seen where the address is not
// loopback. Without address translation between them, that is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "diagnosis/snapshot/socket_holders.h"
#include "tracee/net/tcp_sockets.h"
#include "tracee/net/unix_sockets.h"

namespace hangdbg {

struct SocketPeer {
  // Of its sockets: one; several, where more than one listens on the address.
  std::vector<std::uint64_t> inodes;
  std::vector<SocketFd> holders;  // of those; none where they are not seen
  bool all_seen = true;  // of every process it was seen which sockets it has

  // False: nobody has accepted the connection. Then that is who listens.
  bool accepted = true;
  std::uint32_t waiting = 0;          // connections in its accept queue
  std::optional<std::uint32_t> room;  // its backlog, if that is known
  std::string name;                   // where it listens
  // The kernel drops who comes then (sk_acceptq_is_full, net/sock.h).
  bool is_full() const { return room && waiting > *room; }

  std::uint32_t unread = 0;           // bytes that it was sent and has not read
  std::optional<std::uint32_t> user;  // whose it is, of TCP and UDP
};

class SocketTables {
 public:
  explicit SocketTables(Deadline deadline) : deadline_(deadline) {}

  // The socket with that inode, in the network of process `pid`.
  std::optional<TcpSocket> tcp(int pid, std::uint64_t inode);
  std::vector<TcpSocket> tcp_of_process(int pid);
  std::optional<TcpSocket> udp(int pid, std::uint64_t inode);

  // None where it is not of this machine, or cannot be seen.
  std::optional<SocketPeer> tcp_peer(int pid, const TcpSocket& socket);
  // Who has bound the address that a UDP socket is connected to.
  std::optional<SocketPeer> udp_peer(int pid, const TcpSocket& socket);

  // None: it is no such socket, is not connected, or that is not told.
  std::optional<SocketPeer> unix_peer(int pid, std::uint64_t inode);
  // Who listens at that name, or receives there.
  std::optional<SocketPeer> unix_server(int pid, const std::string& name);

  // What could not be read, since the last time.
  std::vector<std::string> take_skipped() {
    return std::exchange(skipped_, {});
  }

 private:
  const TcpSockets& tcp_of(int pid);
  const TcpSockets& udp_of(int pid);
  const std::vector<UnixSocket>& unix_of(int pid);
  const AllSockets& all();
  std::vector<int> other_networks(int pid);
  SocketPeer held(SocketPeer peer);
  std::optional<SocketPeer> waiting_tcp(int pid,
                                        const TcpSocket& ours,
                                        bool seen_there);

  Deadline deadline_;
  std::map<std::uint64_t, TcpSockets> tcp_, udp_;  // by network
  std::map<std::uint64_t, std::vector<UnixSocket>> unix_;
  std::optional<AllSockets> all_;
  std::vector<std::string> skipped_;
};

}  // namespace hangdbg
