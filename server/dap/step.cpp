#include "server/dap/step.h"

#include "server/co_try.h"

namespace hangdbg {

boost::asio::awaitable<Status> step(DebugSession& session,
                                    std::int64_t thread,
                                    StepKind kind) {
  if (!session.holds(thread)) {
    CO_CHECK(co_await session.hold(thread));
  }
  session.goes_on(thread);
  const Status done = co_await step_thread(session.agent(), thread, kind, 0,
                                           session.deadline());
  if (!done) {
    session.stays(thread);
  }
  co_return done;
}

}  // namespace hangdbg
