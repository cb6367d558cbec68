#include "inspector/jobs/torch/peers.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace hangdbg {
namespace {

struct PeerEnd {
  std::optional<int> rank;
  const Connection* connection;

  const TcpSocket& socket() const { return connection->socket; }
};

// Of a loopback address also in which network it is one.
using PeerKey = std::tuple<std::uint64_t, SocketAddress, SocketAddress>;

PeerKey key_of(std::uint64_t network,
               const SocketAddress& local,
               const SocketAddress& remote) {
  return {local.is_loopback() ? network : 0, local, remote};
}

bool is_connection(const TcpSocket& socket) {
  return socket.state != TcpState::Listen && socket.remote.port != 0;
}

bool has_closed(const PeerEnd* sender, const PeerEnd* receiver) {
  constexpr std::array kClosed = {TcpState::FinWait1, TcpState::FinWait2,
                                  TcpState::Closing, TcpState::Close};
  constexpr std::array kLeft = {TcpState::CloseWait, TcpState::LastAck,
                                TcpState::Close};
  const auto is_in = [](const PeerEnd* end, const auto& states) {
    return end != nullptr &&
           std::ranges::find(states, end->socket().state) != states.end();
  };
  return is_in(sender, kClosed) || is_in(receiver, kLeft);
}

Flow flow_of(const PeerFlow& flow,
             const PeerEnd* sender,
             const PeerEnd* receiver) {
  if (has_closed(sender, receiver)) {
    return Flow::Closed;
  }
  if (flow.unread > 0) {
    return Flow::Unread;
  }
  if (flow.retransmits > 0 ||
      (sender != nullptr && sender->socket().state == TcpState::SynSent)) {
    return Flow::Unreachable;
  }
  return flow.undelivered > 0 ? Flow::Undelivered : Flow::Quiet;
}

// One of the two is known.
PeerFlow make_flow(const PeerEnd* sender,
                   const PeerEnd* receiver,
                   std::uint16_t store_port) {
  PeerFlow flow;
  if (sender != nullptr) {
    const TcpSocket& socket = sender->socket();
    flow.from = sender->rank;
    flow.from_fd = sender->connection->fd;
    flow.sender = socket.local;
    flow.receiver = socket.remote;
    flow.state = socket.state;
    flow.undelivered = socket.unacknowledged;
    flow.retransmits = socket.retransmits;
    if (socket.progress) {
      flow.quiet = socket.progress->last_answered;
      flow.bytes = socket.progress->acknowledged;
    }
  }
  if (receiver != nullptr) {
    const TcpSocket& socket = receiver->socket();
    flow.to = receiver->rank;
    flow.to_fd = receiver->connection->fd;
    flow.sender = socket.remote;
    flow.receiver = socket.local;
    if (flow.state == TcpState::Unknown ||
        flow.state == TcpState::Established) {
      flow.state = socket.state;
    }
    flow.unread = socket.unread;
    if (socket.progress) {
      flow.quiet = socket.progress->last_received;
      flow.bytes = socket.progress->received;
    }
  }
  flow.flow = flow_of(flow, sender, receiver);
  flow.store = store_port != 0 && (flow.sender.port == store_port ||
                                   flow.receiver.port == store_port);
  return flow;
}

}  // namespace

std::vector<PeerFlow> match_peers(const std::vector<RankConnections>& ranks,
                                  std::uint16_t store_port) {
  std::map<PeerKey, PeerEnd> ends;
  for (const RankConnections& one : ranks) {
    for (const Connection& connection : one.connections->connections) {
      if (is_connection(connection.socket)) {
        ends.try_emplace(
            key_of(one.connections->network, connection.socket.local,
                   connection.socket.remote),
            PeerEnd{one.rank, &connection});
      }
    }
  }
  std::vector<PeerFlow> flows;
  for (const auto& [key, end] : ends) {
    const auto& [network, local, remote] = key;
    const auto found = ends.find({network, remote, local});
    const PeerEnd* const other = found == ends.end() ? nullptr : &found->second;
    // A launcher has other connections as well, not the job's.
    if (!end.rank && (other == nullptr || !other->rank)) {
      continue;
    }
    flows.push_back(make_flow(&end, other, store_port));
    if (other == nullptr) {
      flows.push_back(make_flow(nullptr, &end, store_port));
    }
  }
  std::ranges::stable_sort(flows, {}, [](const PeerFlow& flow) {
    return std::tuple(flow.flow,
                      -flow.quiet.value_or(std::chrono::milliseconds()).count(),
                      flow.to, flow.from);
  });
  return flows;
}

const char* flow_name(Flow flow) {
  switch (flow) {
    case Flow::Unreachable:
      return "unreachable";
    case Flow::Closed:
      return "closed";
    case Flow::Unread:
      return "unread";
    case Flow::Undelivered:
      return "undelivered";
    case Flow::Quiet:
      break;
  }
  return "quiet";
}

}  // namespace hangdbg
