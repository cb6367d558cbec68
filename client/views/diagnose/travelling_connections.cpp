#include "client/views/diagnose/travelling_connections.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "base/text.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostSockets = 4096;  // of one rank

std::string address_text(const SocketAddress& address) {
  std::string text;
  for (const std::uint8_t byte : address.bytes) {
    text += fmt::format("{:02x}", byte);
  }
  return fmt::format("{}:{}", text, address.port);
}

std::optional<SocketAddress> address_from(std::string_view text) {
  SocketAddress address;
  constexpr std::size_t kDigits = 2 * sizeof address.bytes;
  if (text.size() < kDigits + 2 || text[kDigits] != ':') {
    return std::nullopt;
  }
  for (std::size_t at = 0; at < address.bytes.size(); ++at) {
    const auto byte = parse_number<std::uint8_t>(text.substr(2 * at, 2), 16);
    if (!byte) {
      return std::nullopt;
    }
    address.bytes[at] = *byte;
  }
  const auto port = parse_number<std::uint16_t>(text.substr(kDigits + 1));
  if (!port) {
    return std::nullopt;
  }
  address.port = *port;
  return address;
}

std::uint32_t count_of(std::int64_t number) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(
      number, 0, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

reports::EvidenceConnections travel(const Connections& from) {
  reports::EvidenceConnections to{.network = fmt::format("{}", from.network)};
  for (const auto& [fd, socket] : from.connections) {
    if (socket.state == TcpState::Listen || socket.remote.port == 0 ||
        to.sockets.size() >= kMostSockets) {
      continue;
    }
    reports::EvidenceSocket& one = to.sockets.emplace_back(
        reports::EvidenceSocket{.fd = fd,
                                .state = static_cast<int>(socket.state),
                                .local = address_text(socket.local),
                                .remote = address_text(socket.remote),
                                .unread = socket.unread,
                                .undelivered = socket.unacknowledged,
                                .retransmits = socket.retransmits});
    if (socket.progress) {
      one.last_received_ms = socket.progress->last_received.count();
      one.last_answered_ms = socket.progress->last_answered.count();
    }
  }
  return to;
}

Result<Connections> back(const reports::EvidenceConnections& from,
                         const std::string& host) {
  Connections to{.network =
                     std::hash<std::string>{}(host + " " + from.network)};
  for (const reports::EvidenceSocket& one : from.sockets) {
    const auto local = address_from(one.local);
    const auto remote = address_from(one.remote);
    if (!local || !remote || one.state < 0 ||
        one.state > static_cast<int>(TcpState::Closing) ||
        to.connections.size() >= kMostSockets) {
      return fail(ErrorId::BadMessage, "a connection is malformed");
    }
    TcpSocket socket{.local = *local,
                     .remote = *remote,
                     .state = static_cast<TcpState>(one.state),
                     .unread = count_of(one.unread),
                     .unacknowledged = count_of(one.undelivered),
                     .retransmits = count_of(one.retransmits)};
    if (one.last_received_ms && one.last_answered_ms) {
      socket.progress = {
          .last_received = std::chrono::milliseconds(*one.last_received_ms),
          .last_answered = std::chrono::milliseconds(*one.last_answered_ms)};
    }
    to.connections.push_back({static_cast<int>(one.fd), socket});
  }
  return to;
}

}  // namespace hangdbg
