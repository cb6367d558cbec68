#include "tracee/net/socket_address.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <span>

namespace hangdbg {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0,    0,
                                                  0, 0, 0, 0, 0xff, 0xff};

}  // namespace

SocketAddress SocketAddress::v4(std::array<std::uint8_t, 4> bytes,
                                std::uint16_t port) {
  SocketAddress address{.port = port};
  std::ranges::copy(kMapped, address.bytes.begin());
  std::ranges::copy(bytes, address.bytes.begin() + kMapped.size());
  return address;
}

bool SocketAddress::is_v4() const {
  return std::ranges::equal(std::span(bytes).first<kMapped.size()>(), kMapped);
}

bool SocketAddress::is_loopback() const {
  constexpr std::array<std::uint8_t, 16> kLoopback = {0, 0, 0, 0, 0, 0, 0, 0,
                                                      0, 0, 0, 0, 0, 0, 0, 1};
  return is_v4() ? bytes[kMapped.size()] == 127 : bytes == kLoopback;
}

bool SocketAddress::is_any() const {
  constexpr std::array<std::uint8_t, 16> kAny = {};
  return is_v4()
             ? std::ranges::all_of(std::span(bytes).subspan<kMapped.size()>(),
                                   [](std::uint8_t byte) { return byte == 0; })
             : bytes == kAny;
}

std::string SocketAddress::text() const {
  return is_v4() ? fmt::format("{}:{}", host_text(), port)
                 : fmt::format("[{}]:{}", host_text(), port);
}

std::string SocketAddress::host_text() const {
  std::array<char, INET6_ADDRSTRLEN> name{};
  if (is_v4()) {
    ::inet_ntop(AF_INET, bytes.data() + kMapped.size(), name.data(),
                name.size());
  } else {
    ::inet_ntop(AF_INET6, bytes.data(), name.data(), name.size());
  }
  return name.data();
}

}  // namespace hangdbg
