// What next, stepIn and stepOut have in common.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>

#include "base/result.h"
#include "server/dap/debug_session.h"
#include "server/hold.h"

namespace hangdbg {

// A thread that is only looked at is taken hold of first. The agent's event
// says when it is there.
boost::asio::awaitable<Status> step(DebugSession& session,
                                    std::int64_t thread,
                                    StepKind kind);

}  // namespace hangdbg
