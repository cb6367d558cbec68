// stackTrace: of any thread, whether it stands or runs.
#include "server/dap/handlers.h"

namespace hangdbg {

void StackTraceHandler::declare(dap::Capabilities& capabilities) {
  capabilities.supports_delayed_stack_trace_loading = true;
}

Answer<dap::StackTrace> StackTraceHandler::handle(DebugSession& session,
                                                  Pair::Arguments arguments) {
  auto stack = co_await session.agent().stack(arguments, session.deadline());
  if (stack) {
    session.translation().outward(*stack);
    for (dap::StackFrame& frame : stack->stack_frames) {
      if (frame.id == 0) {
        frame.id = session.number_outside_frame();
      }
    }
  }
  co_return stack;
}

}  // namespace hangdbg
