// Taking hold of a thread of the program that is blocked, stepping it, and
// letting go of it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/deadline.h"
#include "base/result.h"
#include "protocol/events/stopped.h"
#include "protocol/requests/debug.h"
#include "server/session/agent_session.h"
#include "server/session/session.h"

namespace hangdbg {

// Does what would hold up the io_context.
using Elsewhere =
    std::function<boost::asio::awaitable<Status>(std::function<Status()>)>;

// How a thread that is held resumes.
enum class StepKind { Next, Into, Out, Until };
struct Step {
  StepKind kind;
  std::int64_t line = 0;                 // Until
  std::optional<std::int64_t> target{};  // Into: one call, of stepInTargets
  std::optional<bool> events{};  // also to calls, returns and exceptions
  // Until: this is another than now, in the frame with that number, the
  // outermost is 1.
  std::optional<std::string> watch{};
  std::int64_t frame = 0;
};

// From then on requests about the thread's frames run on itself. It resumes by
// release_thread, and by the end of the session. Errors: NoSafeThread, with the
// reason why it cannot be held now; those of AgentSession::call.
boost::asio::awaitable<Status> hold_thread(AgentSession& session,
                                           std::int64_t tid,
                                           Deadline deadline,
                                           Elsewhere elsewhere);

// It resumes, and is held again at its next line: of the same function or a
// caller's; of any; of a caller's; or of the same with at least that number.
// The agent says when by the event `stopped`.
boost::asio::awaitable<Status> step_thread(AgentSession& session,
                                           std::int64_t tid,
                                           Step step,
                                           Deadline deadline);

// Where it continues: a line of its function. The agent says by `stopped` that
// it is there. Errors: ExpressionFailed where Python cannot jump.
boost::asio::awaitable<Status> jump_thread(AgentSession& session,
                                           std::int64_t tid,
                                           std::int64_t line,
                                           Deadline deadline);

// It resumes with that code, and is held in it as after a step into it; and
// again where it is held now, when that has ended. Errors: ExpressionFailed
// where it is no Python; NoSuchFrame.
boost::asio::awaitable<Status> debug_in_thread(AgentSession& session,
                                               std::int64_t tid,
                                               dap::Debug::Arguments what,
                                               Deadline deadline);

// Nothing happens to a thread that is not held.
boost::asio::awaitable<Status> release_thread(AgentSession& session,
                                              std::int64_t tid,
                                              Deadline deadline);

// Suspends those that wait for a debugger (python/hangdbg), now and later; the
// agent says so by `stopped`. Where that is impossible, they resume. One that
// waits before its first line goes there, and stops there only if `entry`.
boost::asio::awaitable<Status> take_waiting(AgentSession& session,
                                            Deadline deadline,
                                            bool entry = true);

// The same for synchronous callers.
Status hold_thread(Session& session, std::int64_t tid, Deadline deadline);
Status step_thread(Session& session,
                   std::int64_t tid,
                   Step step,
                   Deadline deadline);
Status jump_thread(Session& session,
                   std::int64_t tid,
                   std::int64_t line,
                   Deadline deadline);
Status debug_in_thread(Session& session,
                       std::int64_t tid,
                       dap::Debug::Arguments what,
                       Deadline deadline);
Status release_thread(Session& session, std::int64_t tid, Deadline deadline);
Status take_waiting(Session& session, Deadline deadline);

// The number by which the agent knows that thread.
Result<std::int64_t> agents_number(const Session& session, std::int64_t tid);

// A thread that was suspended, by our number for it; or one that has resumed by
// itself.
struct Stop {
  std::int64_t tid = 0;
  bool goes_on = false;
  dap::Stopped::Body why;
};

// The next one that has; nothing: time is up. Errors: Session::wait_event's.
Result<std::optional<Stop>> next_stop(Session& session, Deadline deadline);

}  // namespace hangdbg
