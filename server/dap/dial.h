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

// Whether what is sent is for the server's eyes only.
enum class Sends { Nothing, Secret };

// Secret: only to a server known by `tls`, or of root or us on this machine.
// Errors: System (no listener), NotPermitted (it is another server than the
// requested one), TimedOut, ChannelClosed.
boost::asio::awaitable<Result<std::unique_ptr<Transport>>> dial(
    boost::asio::io_context& io,
    const ListenAddress& address,
    const std::optional<Tls>& tls,
    Sends sends,
    Deadline deadline);

}  // namespace hangdbg
