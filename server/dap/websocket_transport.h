// Messages over a WebSocket, each a text message of its own.
//
// A browser runs as the same user and connects wherever a page tells it to. So
// before the upgrade: a client that names an Origin, as each browser does, is
// refused; and so is a Host that is not a literal loopback address, which a
// page that has its name resolved to us could not avoid to send; over TLS the
// certificate vouches for the name.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <optional>
#include <string_view>

#include "server/dap/tls.h"
#include "server/dap/transport.h"

namespace hangdbg {

// Null: refused, or no WebSocket.
boost::asio::awaitable<std::unique_ptr<Transport>> accept_websocket(
    boost::asio::ip::tcp::socket socket);
boost::asio::awaitable<std::unique_ptr<Transport>> accept_websocket(
    boost::asio::ip::tcp::socket socket,
    const Tls& tls);

// To a server, as its client. Errors: ChannelClosed, NotPermitted.
boost::asio::awaitable<Result<std::unique_ptr<Transport>>> connect_websocket(
    boost::asio::ip::tcp::socket socket,
    const std::optional<Tls>& tls);

// Whether a Host header names one of this machine's own addresses, in full:
// "127.0.0.1:5678", "[::1]".
bool is_loopback_host(std::string_view host);

}  // namespace hangdbg
