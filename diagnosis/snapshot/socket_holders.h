// Which processes hold which sockets, as far as permitted.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/deadline.h"

namespace hangdbg {

struct SocketFd {
  int pid = 0;
  int fd = 0;
};

struct AllSockets {
  std::multimap<std::uint64_t, SocketFd> by_inode;
  std::map<std::uint64_t, int> networks;  // a process of each namespace
  std::size_t unseen = 0;  // processes whose sockets may not be read
};

AllSockets read_all_sockets(Deadline deadline);

}  // namespace hangdbg
