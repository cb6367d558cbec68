// How threads are resumed, by requests and by commands.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>

#include "base/result.h"
#include "server/dap/debug_session.h"
#include "server/session/hold.h"

namespace hangdbg {

// A thread that is only looked at is taken hold of first. The agent's event
// says when it is there.
boost::asio::awaitable<Status> step(DebugSession& session,
                                    std::int64_t thread,
                                    Step how);

// Of a thread that nothing holds it is enough to say so.
boost::asio::awaitable<Status> let_go(DebugSession& session,
                                      std::int64_t thread);

}  // namespace hangdbg
