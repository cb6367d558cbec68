// RemotePrompt: `hangdbg attach` on a server's machine, here. What is typed
// goes there, what it prints comes back; it knows nothing of either.
//
// Threads: one.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/result.h"
#include "client/terminal/terminal_mode.h"
#include "protocol/message.h"
#include "protocol/requests/terminal/terminal.h"
#include "server/coroutines/queue.h"
#include "server/coroutines/task_group.h"
#include "server/dap/transport.h"

namespace hangdbg {

class RemotePrompt {
 public:
  RemotePrompt(boost::asio::io_context& io,
               std::unique_ptr<Transport> transport);

  // Its exit code. Errors: what the server says, or that it says nothing until
  // then (TimedOut); ChannelClosed; Interrupted.
  boost::asio::awaitable<Result<int>> run(dap::Terminal::Arguments wanted,
                                          bool reads_input,
                                          Deadline deadline);

 private:
  boost::asio::awaitable<Result<int>> take_messages();
  boost::asio::awaitable<void> send_messages();
  boost::asio::awaitable<void> send_input();
  boost::asio::awaitable<void> send_sizes();
  boost::asio::awaitable<void> watch_signals();
  boost::asio::awaitable<void> end_unless_begun(Deadline deadline);
  boost::asio::awaitable<bool> ask(dap::Request request);
  void begin();
  Status print(const dap::Event& event);
  void interrupt();

  std::unique_ptr<Transport> transport_;
  Queue<std::string> messages_;  // to the server
  TaskGroup tasks_;
  boost::asio::posix::stream_descriptor input_;
  boost::asio::signal_set ends_;
  boost::asio::signal_set sizes_;
  boost::asio::steady_timer answer_came_;
  boost::asio::steady_timer begins_;  // until it has
  std::int64_t next_seq_ = 1;
  std::int64_t answered_ = 0;
  bool on_screen_ = false;
  bool reads_input_ = false;
  bool interrupted_ = false;
  bool silent_ = false;  // the server
  std::optional<TerminalMode> mode_;
};

}  // namespace hangdbg
