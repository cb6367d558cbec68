// hangdbg/resize: the person's terminal has another size.
#include "server/dap/handlers.h"

namespace hangdbg {

Answer<dap::TerminalResize> TerminalResizeHandler::handle(
    DebugSession& session,
    Pair::Arguments screen) {
  RemoteTerminal* const terminal = session.terminal();
  if (terminal == nullptr) {
    co_return fail(ErrorId::BadMessage, "hangdbg/terminal comes first");
  }
  terminal->resize(screen);
  co_return dap::Nothing();
}

}  // namespace hangdbg
