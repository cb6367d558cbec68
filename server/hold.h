// Taking hold of a thread of the program that is blocked, stepping it, and
// letting go of it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>

#include "base/deadline.h"
#include "base/result.h"
#include "server/agent_session.h"
#include "server/session.h"

namespace hangdbg {

// Does what would hold up the io_context.
using Elsewhere =
    std::function<boost::asio::awaitable<Status>(std::function<Status()>)>;

// How a thread that is held goes on.
enum class StepKind { Next, Into, Out, Until };

// From then on what is asked about the thread's frames runs on itself. It goes
// on by release_thread, and by the end of the session. Errors: NoSafeThread,
// with the reason why it cannot be held now; those of AgentSession::call.
boost::asio::awaitable<Status> hold_thread(AgentSession& session,
                                           std::int64_t tid,
                                           Deadline deadline,
                                           Elsewhere elsewhere);

// It goes on, and is held again at its next line: of the same function or a
// caller's; of any; of a caller's; or of the same with at least that number.
// The agent says when by the event `stopped`.
boost::asio::awaitable<Status> step_thread(AgentSession& session,
                                           std::int64_t tid,
                                           StepKind kind,
                                           std::int64_t line,
                                           Deadline deadline);

// Nothing happens to a thread that is not held.
boost::asio::awaitable<Status> release_thread(AgentSession& session,
                                              std::int64_t tid,
                                              Deadline deadline);

// The same for who does one thing after another.
Status hold_thread(Session& session, std::int64_t tid, Deadline deadline);
Status step_thread(Session& session,
                   std::int64_t tid,
                   StepKind kind,
                   std::int64_t line,
                   Deadline deadline);
Status release_thread(Session& session, std::int64_t tid, Deadline deadline);

// Whether the thread stands again; else time is up. Errors: NoSuchThread when
// it has ended; those of Session::wait_event.
Result<bool> await_stop(Session& session, std::int64_t tid, Deadline deadline);

}  // namespace hangdbg
