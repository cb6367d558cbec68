// scopes: the agent's; while the GIL is held one that says so, in place of a
// wait.
#include "protocol/events/output.h"
#include "server/dap/handlers.h"

namespace hangdbg {

Answer<dap::Scopes> ScopesHandler::handle(DebugSession& session,
                                          Pair::Arguments arguments) {
  AgentSession& agent = session.agent();
  const bool read_only = co_await agent.read_only();
  if (read_only || DebugSession::is_outside_frame(arguments.frame_id)) {
    dap::Scope scope;
    if (read_only) {
      const std::string why = co_await agent.why_read_only();
      scope.name = "Locals: not now, " + why;
    } else {
      scope.name = "Locals: not of this look; ask for the stack again";
    }
    dap::Scopes::Body body;
    body.scopes.push_back(std::move(scope));
    co_return body;
  }
  auto scopes = co_await agent.call<dap::Scopes>(arguments, session.deadline());
  if (scopes) {
    session.translation().outward(*scopes);
  }
  co_return scopes;
}

}  // namespace hangdbg
