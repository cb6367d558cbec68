// configurationDone: now the editor is shown the thread that hangs.
#include "server/dap/handlers.h"
#include "server/dap/shown_stop.h"

namespace hangdbg {

void ConfigurationDoneHandler::declare(dap::Capabilities& capabilities) {
  capabilities.supports_configuration_done_request = true;
}

Answer<dap::ConfigurationDone> ConfigurationDoneHandler::handle(
    DebugSession& session,
    Pair::Arguments) {
  if (session.configured()) {
    co_return fail(ErrorId::BadMessage, "configurationDone was there already");
  }
  session.set_configured();
  co_return dap::Nothing();
}

boost::asio::awaitable<void> ConfigurationDoneHandler::after(
    DebugSession& session,
    Pair::Arguments) {
  if (session.phase() == DebugSession::Phase::Attached) {
    co_await show_hung_thread(session);
  }
}

}  // namespace hangdbg
