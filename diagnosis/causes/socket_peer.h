// A wait for the other end of a socket, on this machine: its owner, and what
// can be seen of that.
#pragma once

#include <limits>
#include <string>

#include "diagnosis/snapshot/cause.h"
#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/snapshot/socket_peers.h"

namespace hangdbg::causes {

// A peer that cannot be seen may be busy for any time.
inline constexpr double kNoTimeTells = std::numeric_limits<double>::infinity();

struct SocketWait {
  std::string over;  // "TCP (127.0.0.1:6379)", "a Unix socket"
  std::string to;    // "127.0.0.1:6379", "/run/redis.sock"; may be empty
  bool reads = true;
  bool connects = false;   // there is no connection yet
  bool with_time = false;  // the call has a time limit
};

// Makes `cause` that wait, with the owner in its summary and as threads.
// Returns false where no owner is visible.
bool lead_to_peer(const ProcessSnapshot& of,
                  const ThreadSnapshot& thread,
                  const SocketPeer& peer,
                  const SocketWait& wait,
                  Cause& cause);

}  // namespace hangdbg::causes
