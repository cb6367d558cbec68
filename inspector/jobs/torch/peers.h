// The connections within a job, and which of them make no progress: the two
// ends of a connection, of which each process has one, put together. Nothing is
// read here.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tracee/net/connections.h"

namespace hangdbg {

// What is wrong with what one end sends to the other, the worst first.
enum class Flow {
  Unreachable,  // the kernel sends it again and again, or cannot connect
  Closed,       // one end has closed, or is gone
  Unread,       // it has arrived, and the receiver does not read it
  Undelivered,  // it has not arrived
  Quiet,        // there is nothing to send
};
const char* flow_name(Flow flow);  // "unread"

// One direction of one connection.
struct PeerFlow {
  std::optional<int> from, to;  // ranks; empty: unknown
  SocketAddress sender;         // addresses of the two ends
  SocketAddress receiver;
  std::optional<int> from_fd, to_fd;
  TcpState state = TcpState::Unknown;  // of the end that says more of it
  Flow flow = Flow::Quiet;
  std::uint32_t unread = 0;       // bytes at the receiver
  std::uint32_t undelivered = 0;  // bytes at the sender
  std::uint32_t retransmits = 0;
  // So long nothing has come; from a receiver that is not ours, no answer.
  // Empty: it cannot be told.
  std::optional<std::chrono::milliseconds> quiet;
  std::optional<std::uint64_t> bytes;  // all that has ever come
  bool store = false;  // to or from the store where the ranks meet
};

struct RankConnections {
  std::optional<int> rank;  // empty: the launcher
  const Connections* connections;
};

// The worst first, of these what is quiet for longest. `store_port`: that of
// the store, 0 if it is not known.
std::vector<PeerFlow> match_peers(const std::vector<RankConnections>& ranks,
                                  std::uint16_t store_port);

}  // namespace hangdbg
