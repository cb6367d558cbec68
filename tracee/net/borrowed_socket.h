// A socket of another process, borrowed for a moment by pidfd_getfd(2): for
// what the kernel tells about a socket only to a process that has it open.
//
// It is the same socket, not a copy. It is closed again within
// microseconds, before anything else is done: if the process closes its own
// meanwhile, the connection ends that much later, and is watched by its epoll
// sets that much longer. Nothing is read from it, written to it or set.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "tracee/net/tcp_sockets.h"

namespace hangdbg {

// Those of socket(7) and tcp(7) by which a call gives up some time, or never.
struct SocketOptions {
  bool keeps_alive =
      false;  // SO_KEEPALIVE: asks a silent peer whether it lives
  std::chrono::seconds keep_idle{};                          // after so long
  std::optional<std::chrono::milliseconds> user_timeout;     // of what is sent
  std::optional<std::chrono::milliseconds> receive_timeout;  // of a call
  std::optional<std::chrono::milliseconds> send_timeout;
  std::string device;  // that it is bound to; "" if to none
};

struct BorrowedSocket {
  TcpSocket tcp;  // without an inode
  SocketOptions options;
};

// A TCP socket. Errors: NotPermitted, as for ptrace(2); NoSuchProcess; System,
// also if it is no TCP socket, or the kernel is older than 5.6.
Result<BorrowedSocket> borrow_tcp_socket(int pid, int fd);

}  // namespace hangdbg
