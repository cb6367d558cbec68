// pause: the thread is looked at where it is.
#include "server/dap/handlers.h"
#include "server/dap/shown_stop.h"

namespace hangdbg {

Answer<dap::Pause> PauseHandler::handle(DebugSession&, Pair::Arguments) {
  co_return dap::Nothing();
}

boost::asio::awaitable<void> PauseHandler::after(DebugSession& session,
                                                 Pair::Arguments arguments) {
  return show_thread(session, arguments.thread_id, "observed: it runs on");
}

}  // namespace hangdbg
