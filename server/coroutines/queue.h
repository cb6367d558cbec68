// Queue: what one coroutine makes and another takes, at most so many at once.
// A writer to a full queue waits: so a reader that is slow slows the writer
// down, back to the peer. Several waiting writers are served in their order,
// before later ones.
//
// Threads: only the one that runs the executor.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "base/deadline.h"

namespace hangdbg {

template <class T>
class Queue {
 public:
  Queue(const boost::asio::any_io_executor& executor, std::size_t most)
      : came_(executor),
        went_(executor, Deadline::Clock::time_point::max()),
        most_(most) {}

  // False: it is closed.
  boost::asio::awaitable<bool> push(T item) {
    const std::uint64_t turn = next_turn_++;
    while ((items_.size() >= most_ || turn != turn_) && !closed_) {
      co_await went_.async_wait(
          boost::asio::as_tuple(boost::asio::use_awaitable));
    }
    if (!closed_) {
      ++turn_;
      items_.push_back(std::move(item));
      came_.cancel();
      went_.cancel();
    }
    co_return !closed_;
  }

  // Nothing: it is closed and empty, or time is up.
  boost::asio::awaitable<std::optional<T>> pop(Deadline deadline) {
    while (items_.empty() && !closed_ && !deadline.expired()) {
      came_.expires_at(deadline.at());
      co_await came_.async_wait(
          boost::asio::as_tuple(boost::asio::use_awaitable));
    }
    std::optional<T> item;
    if (!items_.empty()) {
      item = std::move(items_.front());
      items_.pop_front();
      went_.cancel();
    }
    co_return item;
  }

  void set_most(std::size_t most) {
    most_ = most;
    went_.cancel();
  }

  // Nothing more is taken in; what is there can be taken out.
  void close() {
    closed_ = true;
    came_.cancel();
    went_.cancel();
  }
  bool closed() const { return closed_; }

 private:
  boost::asio::steady_timer came_;
  boost::asio::steady_timer went_;  // never expires: to set it ends all waits
  std::deque<T> items_;
  std::size_t most_;
  std::uint64_t next_turn_ = 0;  // of the next writer
  std::uint64_t turn_ = 0;       // of the one served
  bool closed_ = false;
};

}  // namespace hangdbg
