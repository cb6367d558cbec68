// SocketAddress: where one end of a connection is, in one form for IPv4 and
// IPv6, so that ends can be compared.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace hangdbg {

// An IPv4 address as the IPv6 one that it is mapped to.
struct SocketAddress {
  std::array<std::uint8_t, 16> bytes{};
  std::uint16_t port = 0;

  static SocketAddress v4(std::array<std::uint8_t, 4> bytes,
                          std::uint16_t port);

  bool is_v4() const;
  bool is_loopback() const;
  bool is_any() const;            // 0.0.0.0, ::
  std::string text() const;       // "127.0.0.1:29500", "[::1]:29500"
  std::string host_text() const;  // "127.0.0.1", "::1"
  auto operator<=>(const SocketAddress&) const = default;
};

}  // namespace hangdbg
