// Messages in a stream that is encrypted.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "base/result.h"
#include "server/dap/tls.h"
#include "server/dap/transport.h"

namespace hangdbg {

// As the server. Null: the other side has not shaken hands in time.
boost::asio::awaitable<std::unique_ptr<Transport>> accept_tls(
    boost::asio::ip::tcp::socket socket,
    const Tls& tls);

// As its client. Error: NotPermitted.
boost::asio::awaitable<Result<std::unique_ptr<Transport>>> connect_tls(
    boost::asio::ip::tcp::socket socket,
    const Tls& tls);

}  // namespace hangdbg
