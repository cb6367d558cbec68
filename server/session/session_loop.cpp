#include "server/session/session_loop.h"
#include "server/coroutines/as_result.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/log.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr auto kSessionLoopNever =
    Deadline::Clock::duration(std::chrono::hours(24 * 365));

// A prompt that has not looked for so many stops wants the last ones.
constexpr std::size_t kSessionLoopMostEvents = 1000;

bool drain(const Fd& eventfd) {
  std::uint64_t count = 0;
  return ::read(eventfd.get(), &count, sizeof count) == sizeof count;
}

}  // namespace

SessionLoop::SessionLoop(Injection made, Session::Hooks hooks)
    : hooks_(std::move(hooks)),
      interrupt_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      interrupts_(io_, Fd(::dup(interrupt_fd_.get())).release()),
      agent_(io_, io_.get_executor(), std::move(made), hooks_.on_notice),
      event_came_(io_) {
  asio::co_spawn(io_, watch_interrupts(), asio::detached);
  asio::co_spawn(io_, take_events(), asio::detached);
}

void SessionLoop::begin() {
  io_.restart();
}

void SessionLoop::forget_interrupt() {
  drain(interrupt_fd_);
  interrupted_ = false;
  agent_.forget_interrupt();
}

void SessionLoop::catch_up() {
  io_.restart();
  io_.poll();
}

AgentSession::Awaitable<std::optional<dap::Event>> SessionLoop::wait_event(
    Deadline deadline) {
  // Who only looks does not notice an interrupt, and so takes none away from
  // the next call.
  const bool waits = !deadline.expired();
  while (events_.empty() && !over_ && !interrupted_ && !deadline.expired()) {
    event_came_.expires_at(deadline.at());
    co_await event_came_.async_wait(as_result);
  }
  std::optional<dap::Event> event;
  if (interrupted_ && waits) {
    co_return fail(ErrorId::Interrupted, "interrupted");
  }
  if (!events_.empty()) {
    event = std::move(events_.front());
    events_.pop_front();
  } else if (over_) {
    co_return std::unexpected(agent_.end().value());
  }
  co_return event;
}

void SessionLoop::interrupt() {
  const std::uint64_t one = 1;
  // Nothing to do if that fails: the counter is at its end, so we are heard.
  [[maybe_unused]] const auto put =
      ::write(interrupt_fd_.get(), &one, sizeof one);
}

// Asio may wake us for one that has been forgotten.
asio::awaitable<void> SessionLoop::watch_interrupts() {
  for (;;) {
    co_await interrupts_.async_wait(asio::posix::stream_descriptor::wait_read,
                                    as_result);
    if (drain(interrupt_fd_)) {
      interrupted_ = true;
      agent_.interrupt_or_next();
      event_came_.cancel();
    }
  }
}

asio::awaitable<void> SessionLoop::take_events() {
  while (auto event =
             co_await agent_.next_event(Deadline::in(kSessionLoopNever))) {
    if (hooks_.on_event && hooks_.on_event(*event)) {
      continue;
    }
    if (events_.size() == kSessionLoopMostEvents) {
      log::warn(log::Area::Server, "an event is lost: {}",
                events_.front().event);
      events_.pop_front();
    }
    events_.push_back(*std::move(event));
    event_came_.cancel();
  }
  over_ = true;
  event_came_.cancel();
}

}  // namespace hangdbg
