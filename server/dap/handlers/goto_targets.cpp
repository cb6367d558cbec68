// gotoTargets: the line itself, in that file; whether Python can go there is
// seen when it is to.
#include <fmt/core.h>

#include "server/dap/handlers.h"

namespace hangdbg {

void GotoTargetsHandler::declare(dap::Capabilities& capabilities) {
  capabilities.supports_goto_targets_request = true;
}

Answer<dap::GotoTargets> GotoTargetsHandler::handle(DebugSession& session,
                                                    Pair::Arguments arguments) {
  dap::GotoTarget target;
  target.line = arguments.line;
  target.label = fmt::format("line {}", arguments.line);
  session.translation().inward(arguments);
  if (!arguments.source.path) {
    co_return fail(ErrorId::BadMessage, "missing value at (root).source.path");
  }
  target.id = session.shown().add_goto_target(
      {*std::move(arguments.source.path), arguments.line});
  dap::GotoTargets::Body body;
  body.targets.push_back(std::move(target));
  co_return body;
}

}  // namespace hangdbg
