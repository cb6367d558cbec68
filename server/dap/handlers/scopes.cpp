// scopes: the agent's; from memory, where the frame was read from there.
#include "server/dap/handlers.h"

namespace hangdbg {

Answer<dap::Scopes> ScopesHandler::handle(DebugSession& session,
                                          Pair::Arguments arguments) {
  if (OutOfProcessValues::is_ours(arguments.frame_id)) {
    co_return session.outside().scopes(arguments.frame_id);
  }
  AgentSession& agent = session.agent();
  if (co_await agent.read_only()) {
    const std::string why = co_await agent.why_read_only();
    dap::Scope scope;
    scope.name = "Locals: not now, " + why;
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
