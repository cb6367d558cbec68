// disconnect: the last request. A program goes on, but for one that we have
// started.
#include "server/dap/handlers.h"
#include "server/dap/launched_program.h"

namespace hangdbg {

Answer<dap::Disconnect> DisconnectHandler::handle(DebugSession& session,
                                                  Pair::Arguments arguments) {
  if (session.program() != nullptr &&
      !arguments.terminate_debuggee.value_or(true)) {
    session.program()->leave_alone();
  }
  session.leave();
  co_return dap::Nothing();
}

}  // namespace hangdbg
