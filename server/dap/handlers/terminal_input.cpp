// hangdbg/input: what the person types.
#include "protocol/base64.h"
#include "server/dap/handlers.h"

namespace hangdbg {

Answer<dap::TerminalInput> TerminalInputHandler::handle(
    DebugSession& session,
    Pair::Arguments arguments) {
  RemoteTerminal* const terminal = session.terminal();
  if (terminal == nullptr) {
    co_return fail(ErrorId::BadMessage, "hangdbg/terminal comes first");
  }
  auto bytes = from_base64(arguments.data);
  if (!bytes) {
    co_return std::unexpected(bytes.error());
  }
  if (bytes->empty()) {
    terminal->end_input();
    co_return dap::Nothing();
  }
  const Status taken = co_await terminal->write(*std::move(bytes));
  if (!taken) {
    co_return std::unexpected(taken.error());
  }
  co_return dap::Nothing();
}

}  // namespace hangdbg
