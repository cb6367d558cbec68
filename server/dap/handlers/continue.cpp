// continue: of a thread that nothing holds it is enough to say so.
#include "server/dap/handlers.h"

namespace hangdbg {

void ContinueHandler::declare(dap::Capabilities& capabilities) {
  capabilities.supports_single_thread_execution_requests = true;
}

Answer<dap::Continue> ContinueHandler::handle(DebugSession&, Pair::Arguments) {
  dap::Continue::Body body;
  body.all_threads_continued = false;
  co_return body;
}

}  // namespace hangdbg
