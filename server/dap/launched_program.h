// LaunchedProgram: what an editor has had us start (`launch`): until it waits
// for us before its first line, what it prints, and its end.
//
// Threads: only the one that runs the io_context.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/result.h"
#include "protocol/requests/launch.h"
#include "server/program.h"
#include "server/task_group.h"

namespace hangdbg {

class DebugSession;

class LaunchedProgram {
 public:
  // Its standard input is empty; what it prints goes to the editor. Errors:
  // Usage.
  static Result<std::unique_ptr<LaunchedProgram>> start(
      DebugSession& session,
      boost::asio::io_context& io,
      const dap::Launch::Arguments& wanted);

  int pid() const { return program_.pid(); }
  bool stops_on_entry() const { return stops_on_entry_; }

  // Until it is about to wait for us before its first line, or ends. Error:
  // TimedOut.
  boost::asio::awaitable<Status> wait_until_ready(Deadline deadline);

  // Until it has ended and all that it has printed is with the editor; its exit
  // code, or 128 and the signal.
  boost::asio::awaitable<std::optional<int>> end(Deadline deadline);

  void terminate();  // SIGTERM
  void leave_alone() { ours_to_end_ = false; }
  // With the editor gone, unless it was to be left alone: SIGTERM, then
  // SIGKILL.
  boost::asio::awaitable<void> close();

 private:
  using Stream = boost::asio::posix::stream_descriptor;

  LaunchedProgram(DebugSession& session,
                  boost::asio::io_context& io,
                  Program program,
                  bool stops_on_entry);
  boost::asio::awaitable<void> pass_on(Stream& from, std::string category);
  boost::asio::awaitable<void> wait_readable(Stream& stream, Deadline deadline);

  DebugSession& session_;
  boost::asio::io_context& io_;
  Program program_;
  Stream ended_, ready_, out_, err_;
  TaskGroup output_;
  boost::asio::steady_timer all_said_;  // cancelled when one of those has
  bool stops_on_entry_;
  bool ours_to_end_ = true;
};

}  // namespace hangdbg
