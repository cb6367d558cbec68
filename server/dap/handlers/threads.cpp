// threads: those that run Python.
#include "server/dap/handlers.h"

namespace hangdbg {

Answer<dap::Threads> ThreadsHandler::handle(DebugSession& session,
                                            Pair::Arguments) {
  auto listed = co_await session.agent().threads(session.deadline());
  if (listed) {
    std::set<std::int64_t> numbers;
    for (const dap::Thread& thread : listed->threads) {
      numbers.insert(thread.id);
    }
    session.threads().know(std::move(numbers));
  }
  co_return listed;
}

}  // namespace hangdbg
