// next: to the next line of the same function, or of its caller.
#include "server/dap/handlers.h"
#include "server/dap/step.h"

namespace hangdbg {

Answer<dap::Next> NextHandler::handle(DebugSession& session,
                                      Pair::Arguments arguments) {
  const Step how{StepKind::Next};
  const Status done = co_await step(session, arguments.thread_id, how);
  if (!done) {
    co_return std::unexpected(done.error());
  }
  co_return dap::Nothing();
}

}  // namespace hangdbg
