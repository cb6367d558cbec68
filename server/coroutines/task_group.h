// TaskGroup: coroutines that run beside the one that waits for their end.
//
// Threads: only the one that runs the executor.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "base/log.h"

namespace hangdbg {

class TaskGroup {
 public:
  explicit TaskGroup(const boost::asio::any_io_executor& executor)
      : executor_(executor), ended_(executor) {}

  void spawn(boost::asio::awaitable<void> task) {
    ++running_;
    boost::asio::co_spawn(
        executor_, std::move(task), [this](const std::exception_ptr& thrown) {
          if (thrown) {
            log::warn(log::Area::Server, "a coroutine has thrown");
          }
          --running_;
          ended_.cancel();
        });
  }

  // Ends when all have. The group must outlive that.
  boost::asio::awaitable<void> join() {
    while (running_ > 0) {
      ended_.expires_at(boost::asio::steady_timer::time_point::max());
      co_await ended_.async_wait(
          boost::asio::as_tuple(boost::asio::use_awaitable));
    }
  }

  int running() const { return running_; }

 private:
  boost::asio::any_io_executor executor_;
  boost::asio::steady_timer ended_;
  int running_ = 0;
};

}  // namespace hangdbg
