// SessionLoop: what a Session is made of - an AgentSession, and the io_context
// on which it runs while a call waits for it.
//
// Threads: one; interrupt() from anywhere.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <concepts>
#include <deque>
#include <exception>
#include <optional>

#include "base/fd.h"
#include "server/session/agent_session.h"
#include "server/session/session.h"

namespace hangdbg {

class SessionLoop {
 public:
  SessionLoop(Injection made, Session::Hooks hooks);

  AgentSession& agent() { return agent_; }
  const AgentSession& agent() const { return agent_; }

  // Runs `work`, a coroutine, to its end.
  template <class T>
  T run(boost::asio::awaitable<T> work) {
    std::optional<T> done;
    begin();
    boost::asio::co_spawn(
        io_, std::move(work), [&](std::exception_ptr thrown, T result) {
          if constexpr (std::constructible_from<T, std::unexpected<Error>>) {
            if (thrown) {
              result = fail(ErrorId::System, "an exception in a coroutine");
            }
          }
          done = std::move(result);
        });
    while (!done) {
      io_.run_one();
    }
    if constexpr (std::constructible_from<T, std::unexpected<Error>>) {
      if (!*done && done->error().id == ErrorId::Interrupted) {
        forget_interrupt();  // it has had its effect
      }
    }
    return *std::move(done);
  }

  // Takes in what has come meanwhile.
  void catch_up();

  AgentSession::Awaitable<std::optional<dap::Event>> wait_event(
      Deadline deadline);

  void interrupt();
  void forget_interrupt();

 private:
  void begin();
  boost::asio::awaitable<void> watch_interrupts();
  boost::asio::awaitable<void> take_events();

  // The last go first; what coroutines are left goes with io_.
  boost::asio::io_context io_{1};
  Session::Hooks hooks_;
  Fd interrupt_fd_;
  boost::asio::posix::stream_descriptor interrupts_;
  AgentSession agent_;
  std::deque<dap::Event> events_;  // for wait_event
  boost::asio::steady_timer event_came_;
  bool interrupted_ = false;
  bool over_ = false;
};

}  // namespace hangdbg
