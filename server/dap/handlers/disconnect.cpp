// disconnect: the last request; the program goes on.
#include "server/dap/handlers.h"

namespace hangdbg {

Answer<dap::Disconnect> DisconnectHandler::handle(DebugSession& session,
                                                  Pair::Arguments) {
  session.leave();
  co_return dap::Nothing();
}

}  // namespace hangdbg
