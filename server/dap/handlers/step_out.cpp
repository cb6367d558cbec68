// stepOut: to the caller, whose line is not over.
#include "server/dap/handlers.h"
#include "server/dap/step.h"

namespace hangdbg {

Answer<dap::StepOut> StepOutHandler::handle(DebugSession& session,
                                            Pair::Arguments arguments) {
  const Step how{StepKind::Out};
  const Status done = co_await step(session, arguments.thread_id, how);
  if (!done) {
    co_return std::unexpected(done.error());
  }
  co_return dap::Nothing();
}

}  // namespace hangdbg
