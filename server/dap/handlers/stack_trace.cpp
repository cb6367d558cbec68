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
    const auto& outside = session.agent().outside_frames();
    for (std::size_t i = 0; i < stack->stack_frames.size(); ++i) {
      if (stack->stack_frames[i].id == 0) {
        stack->stack_frames[i].id = session.outside().add(outside.at(i));
      }
    }
  }
  co_return stack;
}

}  // namespace hangdbg
