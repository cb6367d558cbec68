// Threads that the editor is told of as stopped, though nothing stops them: so
// it shows their stacks.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "server/dap/debug_session.h"

namespace hangdbg {

// The one that hangs, with what it waits for.
boost::asio::awaitable<void> show_hung_thread(DebugSession& session);

// One that the user wants to look at.
boost::asio::awaitable<void> show_thread(DebugSession& session,
                                         std::int64_t thread,
                                         std::string reason,
                                         std::string description);

}  // namespace hangdbg
