// pause: suspends the thread. Where that cannot be, it is looked at where
// it is.
#include <fmt/core.h>

#include <algorithm>

#include "server/dap/handlers.h"
#include "server/dap/shown_stop.h"

namespace hangdbg {

Answer<dap::Pause> PauseHandler::handle(DebugSession& session,
                                        Pair::Arguments arguments) {
  const auto known = co_await session.agent().threads(session.deadline());
  if (known && std::ranges::count(known->threads, arguments.thread_id,
                                  &dap::Thread::id) == 0) {
    co_return fail(ErrorId::NoSuchThread,
                   fmt::format("no Python thread {}", arguments.thread_id));
  }
  co_return dap::Nothing();
}

boost::asio::awaitable<void> PauseHandler::after(DebugSession& session,
                                                 Pair::Arguments arguments) {
  const std::int64_t thread = arguments.thread_id;
  if (session.holds(thread)) {
    co_return co_await show_thread(session, thread, "pause", "held");
  }
  // The agent reports the stop.
  if (const Status held = co_await session.hold(thread); !held) {
    co_await show_thread(session, thread, "pause",
                         "observed, it goes on: " + held.error().message);
  }
}

}  // namespace hangdbg
