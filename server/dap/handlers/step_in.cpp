// stepIn: to the next line, wherever that is; or into one of stepInTargets.
#include "server/dap/handlers.h"
#include "server/dap/step.h"

namespace hangdbg {

Answer<dap::StepIn> StepInHandler::handle(DebugSession& session,
                                          Pair::Arguments arguments) {
  const Step how{StepKind::Into, 0, arguments.target_id};
  const Status done = co_await step(session, arguments.thread_id, how);
  if (!done) {
    co_return std::unexpected(done.error());
  }
  co_return dap::Nothing();
}

}  // namespace hangdbg
