// The TCP connections of processes: which socket is whose descriptor, what lies
// in its queues, since when nothing came or went.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "tracee/net/tcp_sockets.h"

namespace hangdbg {

struct Connection {
  int fd = 0;  // the lowest, where it has several
  TcpSocket socket;
};

struct Connections {
  std::uint64_t network = 0;             // the inode of its network namespace
  std::vector<Connection> connections;   // by descriptor; also listeners
  bool complete = true;                  // false: some could not be read
  std::optional<Error> why_no_progress;  // where TCP_INFO could not be had
};

// Of each of them. A namespace is queried once. Errors: those of
// socket_descriptors, read_tcp_sockets.
std::map<int, Result<Connections>> read_connections(
    const std::vector<int>& pids,
    Deadline deadline);

}  // namespace hangdbg
