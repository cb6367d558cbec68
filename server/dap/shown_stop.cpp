#include "server/dap/shown_stop.h"

#include "base/text.h"
#include "protocol/events/stopped.h"
#include "server/session/hold.h"

namespace hangdbg {
namespace asio = boost::asio;

namespace {

asio::awaitable<void> show_the_one_that_hangs(DebugSession& session);
std::string badge_of(std::string_view wait);

}  // namespace

// Those that wait for a debugger report their place themselves, once suspended.
asio::awaitable<void> show_hung_thread(DebugSession& session) {
  AgentSession& agent = session.agent();
  const bool entry =
      session.program() == nullptr || session.program()->stops_on_entry();
  const auto hello = co_await agent.hello(session.deadline());
  const bool waits = hello && hello->waits;
  const bool read_only = co_await agent.read_only();
  // Also those that will reach a breakpoint() of the program's own.
  Status taken;
  if (waits || !read_only) {
    taken = co_await take_waiting(agent, session.deadline(), entry);
  }
  if (!waits) {
    co_await show_the_one_that_hangs(session);
  } else if (!taken) {
    co_await session.note(taken.error().text());
  }
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
  body.description = badge_of(description);
  body.text = std::move(description);
  body.thread_id = thread;
  body.all_threads_stopped = false;
  return session.say<dap::Stopped>(std::move(body));
}

namespace {

asio::awaitable<void> show_the_one_that_hangs(DebugSession& session) {
  AgentSession& agent = session.agent();
  const auto thread = co_await choose_thread(agent, session.wanted_thread(),
                                             session.deadline());
  if (!thread) {
    co_await session.note(thread.error().text());
    co_return;
  }
  const auto look = session.looks_before().find(thread->tid);
  std::optional<WaitSample> before;
  if (look != session.looks_before().end()) {
    before = look->second;
  }
  std::string wait =
      co_await describe_wait(agent, thread->tid, before, session.deadline());
  // Not "pause": some editors go to a thread only if they hear of another
  // reason.
  co_await show_thread(session, thread->tid, "entry", std::move(wait));
}

// VS Code has it beside the name of a thread or a rank, and cuts that where it
// is too long.
std::string badge_of(std::string_view wait) {
  constexpr std::string_view kAsleep = "asleep in ";
  return std::string(wait.starts_with(kAsleep) ? wait.substr(kAsleep.size())
                                               : wait);
}

}  // namespace
}  // namespace hangdbg
