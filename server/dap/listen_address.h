// Where `hangdbg serve` listens, and `connect` goes: "unix:PATH",
// "tcp:127.0.0.1:5678", "ws:127.0.0.1:5678".
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace hangdbg {

struct WebSocketAddress {
  boost::asio::ip::tcp::endpoint endpoint;
};
using ListenAddress =
    std::variant<boost::asio::local::stream_protocol::endpoint,
                 boost::asio::ip::tcp::endpoint,
                 WebSocketAddress>;

// A HOST is an address, not a name. Port 0: any. Error: Usage.
Result<ListenAddress> parse_listen_address(std::string_view word);

// The host; a Unix socket has none.
std::optional<boost::asio::ip::address> host_of(const ListenAddress& address);

// Whether other machines may reach it: that needs more than a token.
bool is_public(const ListenAddress& address);

// As parse_listen_address takes it.
std::string to_text(const ListenAddress& address);

}  // namespace hangdbg
