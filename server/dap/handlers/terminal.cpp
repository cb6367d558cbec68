// hangdbg/terminal: `attach` for a person at another machine.
#include "server/coroutines/co_try.h"
#include "server/dap/handlers.h"

namespace hangdbg {

Answer<dap::Terminal> TerminalHandler::handle(DebugSession& session,
                                              Pair::Arguments arguments) {
  CO_CHECK(session.check_new());
  if (!session.admits(arguments.token)) {
    auto refused = session.refuse_token();
    refused.error().hint = "--token-file FILE, or HANGDBG_TOKEN";
    co_return refused;
  }
  auto terminal = RemoteTerminal::start(session.io(), arguments);
  if (!terminal) {
    co_return std::unexpected(terminal.error());
  }
  session.open_terminal(*std::move(terminal));
  co_return dap::Nothing();
}

}  // namespace hangdbg
