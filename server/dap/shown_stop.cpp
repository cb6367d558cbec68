#include "server/dap/shown_stop.h"

#include "base/text.h"
#include "protocol/events/stopped.h"

namespace hangdbg {
namespace asio = boost::asio;

asio::awaitable<void> show_hung_thread(DebugSession& session) {
  AgentSession& agent = session.agent();
  const auto thread = co_await choose_thread(agent, session.wanted_thread(),
                                             session.deadline());
  if (!thread) {
    co_await session.note(thread.error().text());
  } else {
    const auto look = session.looks_before().find(thread->tid);
    std::optional<WaitLook> before;
    if (look != session.looks_before().end()) {
      before = look->second;
    }
    std::string wait =
        co_await describe_wait(agent, thread->tid, before, session.deadline());
    // Not "pause": some editors go to a thread only if they hear of another
    // reason.
    co_await show_thread(session, thread->tid, "entry", std::move(wait));
  }
  const bool read_only = co_await agent.read_only();
  if (read_only) {
    const std::string why = co_await agent.why_read_only();
    co_await session.note("read-only: " + why);
  }
  session.watch_threads();
}

asio::awaitable<void> show_thread(DebugSession& session,
                                  std::int64_t thread,
                                  std::string reason,
                                  std::string description) {
  dap::Stopped::Body body;
  body.reason = std::move(reason);
  body.description = std::move(description);
  body.thread_id = thread;
  body.all_threads_stopped = false;
  return session.say<dap::Stopped>(std::move(body));
}

}  // namespace hangdbg
