// continue: of a thread that nothing holds it is enough to say so.
#include "server/dap/handlers.h"
#include "server/hold.h"

namespace hangdbg {

void ContinueHandler::declare(dap::Capabilities& capabilities) {
  capabilities.supports_single_thread_execution_requests = true;
}

Answer<dap::Continue> ContinueHandler::handle(DebugSession& session,
                                              Pair::Arguments arguments) {
  if (session.holds(arguments.thread_id)) {
    // At once: it may stop again before the agent has answered.
    session.goes_on(arguments.thread_id);
    const Status released = co_await release_thread(
        session.agent(), arguments.thread_id, session.deadline());
    if (!released) {
      session.stays(arguments.thread_id);
      co_return std::unexpected(released.error());
    }
  }
  dap::Continue::Body body;
  body.all_threads_continued = false;
  co_return body;
}

}  // namespace hangdbg
