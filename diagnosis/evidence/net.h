// The sockets of a process: both ends, queues, TCP's state for sent data, the
// interface, and the owner of the other end: the facts behind `hangdbg net`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "tracee/net/borrowed_socket.h"
#include "tracee/net/interfaces.h"
#include "tracee/net/tcp_sockets.h"
#include "tracee/net/unix_sockets.h"

namespace hangdbg {

// The owner of the other end of a connection.
struct SocketHolder {
  int pid = 0;
  int fd = 0;
  std::string name;  // comm
};

// The source of the facts about a socket.
enum class SocketSource { SockDiag, Borrowed, Proc };
std::string_view source_name(SocketSource source);  // "sock_diag", ...

struct SeenSocket {
  std::uint64_t inode = 0;
  std::vector<int> fds;  // of this process, ascending
  std::string protocol;  // "TCP", "UDP", "UNIX stream", "NETLINK", ...
  SocketSource source = SocketSource::SockDiag;
  std::optional<TcpSocket> inet = {};  // of TCP and UDP
  std::optional<UnixSocket> local = {};
  std::string interface = {};             // that has its address; "" if unknown
  std::vector<SocketHolder> others = {};  // owners of the other end, here
  std::optional<SocketOptions> options = {};  // if they were requested
  // What is unusual about it, the worst first: "SYN_SENT: no answer yet".
  std::vector<std::string> odd = {};
  int oddness = 0;  // the worst's; 0 if nothing is
};

struct SeenNet {
  int pid = 0;
  std::string name;                 // comm
  std::uint64_t network = 0;        // the inode of its network namespace
  bool ours = true;                 // hangdbg is in the same one
  std::vector<SeenSocket> sockets;  // unusual ones first, then by descriptor
  std::vector<Interface> interfaces;
  std::size_t unseen = 0;  // processes whose sockets may not be read
  std::vector<std::string> skipped;
};

struct NetOptions {
  bool socket_options = false;  // each TCP socket is borrowed for them
};

// Errors: NoSuchProcess, NotPermitted.
Result<SeenNet> see_net(int pid, const NetOptions& options, Deadline deadline);

}  // namespace hangdbg
