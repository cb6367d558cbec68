// stepIn: to the next line, wherever that is.
#include "server/dap/handlers.h"
#include "server/dap/step.h"

namespace hangdbg {

Answer<dap::StepIn> StepInHandler::handle(DebugSession& session,
                                          Pair::Arguments arguments) {
  const Status done =
      co_await step(session, arguments.thread_id, StepKind::Into);
  if (!done) {
    co_return std::unexpected(done.error());
  }
  co_return dap::Nothing();
}

}  // namespace hangdbg
