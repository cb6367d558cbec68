// DetachedChildren: what sessions have launched and left alone. Each is ours to
// reap, and what it prints is read, and dropped, so that it can keep printing.
//
// Threads: only the one that runs the io_context.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/coroutines/task_group.h"
#include "server/session/program.h"

namespace hangdbg {

class DetachedChildren {
 public:
  using Stream = boost::asio::posix::stream_descriptor;

  explicit DetachedChildren(boost::asio::io_context& io);

  // `ended` can be read when it has; the others are what it prints to.
  void take(Program program, Stream ended, Stream out, Stream err);

  // They keep running; their pipes are closed.
  void stop();
  boost::asio::awaitable<void> join() { return keeping_.join(); }

 private:
  boost::asio::awaitable<void> keep(Program program,
                                    Stream ended,
                                    Stream out,
                                    Stream err);

  boost::asio::steady_timer stopped_;
  bool stops_ = false;
  TaskGroup keeping_;
};

}  // namespace hangdbg
