// The other end of a socket, where it is on this machine: which processes hold
// it, or which listening socket has the connection in its accept queue.
//
// A TCP connection is found by its addresses, in the network namespace of the
// process, and in the other visible ones where the address is not loopback.
// Address translation between them is not supported.
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
  std::vector<SocketFd> holders;  // of those; none if they cannot be seen
  bool all_seen = true;           // the sockets of all processes could be read

  // False: the connection is not accepted yet, and this is the listener.
  bool accepted = true;
  std::uint32_t waiting = 0;          // connections in its accept queue
  std::optional<std::uint32_t> room;  // its backlog, if that is known
  std::string name;                   // where it listens
  // The kernel drops new connections then (sk_acceptq_is_full, net/sock.h).
  bool is_full() const { return room && waiting > *room; }
  bool has_read_all() const { return accepted && unread_told && unread == 0; }

  std::uint32_t unread = 0;           // bytes received and not read
  bool unread_told = true;            // else the kernel does not say how many
  std::optional<std::uint32_t> user;  // its owner, of TCP and UDP
};

class SocketTables {
 public:
  explicit SocketTables(Deadline deadline) : deadline_(deadline) {}

  // The socket with that inode, in the network of process `pid`.
  std::optional<TcpSocket> tcp(int pid, std::uint64_t inode);
  std::vector<TcpSocket> tcp_of_process(int pid);
  std::optional<TcpSocket> udp(int pid, std::uint64_t inode);

  // None: it is on another machine, or cannot be seen.
  std::optional<SocketPeer> tcp_peer(int pid, const TcpSocket& socket);
  // The owner of the address that a UDP socket is connected to.
  std::optional<SocketPeer> udp_peer(int pid, const TcpSocket& socket);

  // None: it is no such socket, is not connected, or its peer is unknown.
  std::optional<SocketPeer> unix_peer(int pid, std::uint64_t inode);
  // The socket that listens at that name, or receives there.
  std::optional<SocketPeer> unix_server(int pid, const std::string& name);

  // What could not be read, since the last call.
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
