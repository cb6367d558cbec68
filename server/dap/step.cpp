#include "server/dap/step.h"

#include "server/coroutines/co_try.h"

namespace hangdbg {
namespace {

// It went, and the program was over before the agent could say so.
bool has_gone(const Status& status) {
  return status || status.error().id == ErrorId::TargetDied;
}

}  // namespace

boost::asio::awaitable<Status> step(DebugSession& session,
                                    std::int64_t thread,
                                    Step how) {
  if (!session.holds(thread)) {
    CO_CHECK(co_await session.hold(thread));
  }
  session.goes_on(thread);
  const Status done =
      co_await step_thread(session.agent(), thread, how, session.deadline());
  if (has_gone(done)) {
    co_return Status();
  }
  session.stays(thread);
  co_return done;
}

boost::asio::awaitable<Status> let_go(DebugSession& session,
                                      std::int64_t thread) {
  if (session.holds(thread)) {
    // At once: it may stop again before the agent has answered.
    session.goes_on(thread);
    const Status released =
        co_await release_thread(session.agent(), thread, session.deadline());
    if (!has_gone(released)) {
      session.stays(thread);
      co_return released;
    }
  }
  co_return Status();
}

}  // namespace hangdbg
