// cancel: of a request that waits or is under way; of any other it is nothing.
#include "server/dap/handlers.h"

namespace hangdbg {

void CancelHandler::declare(dap::Capabilities& capabilities) {
  capabilities.supports_cancel_request = true;
}

Answer<dap::Cancel> CancelHandler::handle(DebugSession& session,
                                          Pair::Arguments arguments) {
  if (arguments.request_id) {
    session.cancel(*arguments.request_id);
  }
  co_return dap::Nothing();
}

}  // namespace hangdbg
