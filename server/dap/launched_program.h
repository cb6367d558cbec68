// LaunchedProgram: what an editor has had us start (`launch`), or has started
// for us in a terminal of its own: until it waits for us before its first line,
// what it prints, and its end.
//
// Threads: only the one that runs the io_context.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/result.h"
#include "protocol/requests/launch.h"
#include "server/coroutines/task_group.h"
#include "server/dap/detached_children.h"
#include "server/session/program.h"

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

  // In the editor's terminal: what it prints and reads is there. Errors: Usage;
  // the editor's; TimedOut.
  static boost::asio::awaitable<Result<std::unique_ptr<LaunchedProgram>>>
  start_in_terminal(DebugSession& session,
                    boost::asio::io_context& io,
                    dap::Launch::Arguments wanted);

  int pid() const { return pid_; }
  bool stops_on_entry() const { return stops_on_entry_; }

  // Until it is about to wait for us before its first line, or ends. Error:
  // TimedOut.
  boost::asio::awaitable<Status> wait_until_ready(Deadline deadline);

  // Until it has ended and all that it has printed is with the editor;
  // Program::ended().
  boost::asio::awaitable<std::optional<int>> end(Deadline deadline);

  void terminate() { send(SIGTERM); }
  void leave_alone() { ours_to_end_ = false; }
  // With the editor gone: SIGTERM, then SIGKILL. One that was to be left alone
  // is for `left`, if there is one.
  boost::asio::awaitable<void> close(DetachedChildren* left);

 private:
  using Stream = DetachedChildren::Stream;

  LaunchedProgram(DebugSession& session,
                  boost::asio::io_context& io,
                  Program program,
                  Fd ended,
                  Fd ready,
                  bool stops_on_entry);
  boost::asio::awaitable<void> pass_on(Stream& from, std::string category);
  boost::asio::awaitable<void> wait_readable(Stream& stream, Deadline deadline);
  std::optional<int> code();
  void send(int signal);

  DebugSession& session_;
  boost::asio::io_context& io_;
  int pid_;
  std::optional<Program> program_;  // until others have it
  Stream ended_, ready_, out_, err_;
  TaskGroup output_;
  boost::asio::steady_timer all_said_;  // cancelled when one of those has
  bool stops_on_entry_;
  bool leads_group_ = false;  // of processes
  bool ours_to_end_ = true;
  bool closing_ = false;
};

}  // namespace hangdbg
