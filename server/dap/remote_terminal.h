// RemoteTerminal: a `hangdbg attach` of this machine for a user at another, on
// a pseudo terminal; or on pipes, if the user has none. A process of its own:
// it ends as if its terminal was closed, and resumes all that it held.
//
// Threads: only the one that runs the io_context.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/result.h"
#include "protocol/events/terminal_output.h"
#include "protocol/requests/terminal/terminal.h"
#include "server/coroutines/task_group.h"

namespace hangdbg {

class RemoteTerminal {
 public:
  using Say =
      std::function<boost::asio::awaitable<void>(dap::TerminalOutput::Body)>;

  // Error: System.
  static Result<std::unique_ptr<RemoteTerminal>> start(
      boost::asio::io_context& io,
      const dap::Terminal::Arguments& wanted);
  ~RemoteTerminal();

  // Says what it prints, until it has ended: its exit code. It is not read
  // while what it has said is not taken.
  boost::asio::awaitable<int> pass_output(Say say);

  // Comes back when it has been taken. Error: ChannelClosed.
  boost::asio::awaitable<Status> write(std::string bytes);
  void end_input();
  void resize(const dap::Screen& screen);

  // Ends it; pass_output() comes back soon.
  void hang_up();

 private:
  using Stream = boost::asio::posix::stream_descriptor;

  RemoteTerminal(boost::asio::io_context& io, int pid);
  boost::asio::awaitable<void> pass(Stream& from,
                                    std::optional<std::string> category,
                                    const Say& say);
  boost::asio::awaitable<bool> ends_before(Deadline deadline);
  boost::asio::awaitable<int> reap();

  void close();

  int pid_;
  bool reaped_ = false;
  Stream end_;  // can be read when it has ended
  Stream input_;
  Stream output_;
  Stream errors_;  // not of a terminal
  TaskGroup passing_;
};

}  // namespace hangdbg
