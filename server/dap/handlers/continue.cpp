// continue: lets the thread go.
#include "server/coroutines/co_try.h"
#include "server/dap/handlers.h"
#include "server/dap/step.h"

namespace hangdbg {

void ContinueHandler::declare(dap::Capabilities& capabilities) {
  capabilities.supports_single_thread_execution_requests = true;
}

Answer<dap::Continue> ContinueHandler::handle(DebugSession& session,
                                              Pair::Arguments arguments) {
  CO_CHECK(co_await let_go(session, arguments.thread_id));
  dap::Continue::Body body;
  body.all_threads_continued = false;
  co_return body;
}

}  // namespace hangdbg
