// The other end of `hangdbg serve`: a way to a server, as its client.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>

#include "base/deadline.h"
#include "base/result.h"
#include "server/dap/listen_address.h"
#include "server/dap/tls.h"
#include "server/dap/transport.h"

namespace hangdbg {

// Errors: System (nobody listens), NotPermitted (it is another server than the
// one that `tls` asks for), TimedOut, ChannelClosed.
boost::asio::awaitable<Result<std::unique_ptr<Transport>>> dial(
    boost::asio::io_context& io,
    const ListenAddress& address,
    const std::optional<Tls>& tls,
    Deadline deadline);

}  // namespace hangdbg
