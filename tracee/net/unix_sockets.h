// The AF_UNIX sockets of a network namespace (unix(7)): their names, peers and
// queues.
//
// By unix_diag (sock_diag(7)); where that is not available, by
// /proc/PID/net/unix, without peers and queues.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"

namespace hangdbg {

struct UnixSocket {
  std::uint64_t inode = 0;
  int type = 0;  // SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET
  bool listens = false;
  bool connected = false;
  std::string name;  // a path; "@name" of one in no file system; may be ""
  std::uint64_t peer = 0;  // the inode of the other end; 0: none, or not told
  // Of one that listens: the inodes of those that wait to be accepted. Until
  // then, they are told of no other end.
  std::vector<std::uint64_t> waiting;
  // Bytes not yet read; of a listener: connections not yet accepted.
  std::optional<std::uint32_t> unread;
  // Bytes sent and not read; of one that listens: so many may wait.
  std::optional<std::uint32_t> unsent;
};

struct UnixSockets {
  std::vector<UnixSocket> sockets;
  bool complete = true;
  std::optional<Error> why_no_peers;  // why they come from /proc
};

// Of the namespace that the process is in. Errors: those of read_proc_file.
Result<UnixSockets> read_unix_sockets(int pid, Deadline deadline);

// The text of /proc/net/unix; lines that do not parse are skipped.
std::vector<UnixSocket> parse_proc_unix(std::string_view text);

}  // namespace hangdbg
