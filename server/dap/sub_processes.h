// SubProcesses: the Python processes that a target starts, and what it becomes
// by exec. For each the editor is asked to open a session (startDebugging).
//
// They are found out of process, in /proc: nothing is put into the target for
// it. What was there before is left to the caller.
//
// Threads: only the one that runs the io_context.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <set>
#include <vector>

#include "base/deadline.h"
#include "inspector/cpython/runtime/python_processes.h"
#include "protocol/requests/attach.h"

namespace hangdbg {

class DebugSession;

class SubProcesses {
 public:
  // `parent`: by which the target's own session was opened. Takes some tens of
  // milliseconds where there are thousands of processes.
  SubProcesses(DebugSession& session, int pid, dap::Attach::Arguments parent);

  // From now on they wait for their sessions, where that is possible; not any
  // more once the editor has said no to one, which it would delay again and
  // again. To be called between two requests: while the agent cannot get the
  // GIL, later, for which follow() asks.
  boost::asio::awaitable<void> hold_back();

  // Until the session's end.
  boost::asio::awaitable<void> follow();

  // Of a target that has called exec, once that is Python again.
  boost::asio::awaitable<void> follow_exec();

 private:
  boost::asio::awaitable<void> open_session(int pid);
  std::vector<int> take_new();
  std::set<int> living();

  DebugSession& session_;
  int pid_;
  dap::Attach::Arguments parent_;
  PythonFinder finder_;
  std::set<int> told_;
  bool holds_ = false;    // or has tried to
  bool asked_ = false;    // for hold_back() to be called
  bool refused_ = false;  // by the editor
  bool released_ = false;
  std::set<int> seen_;  // in the last look
};

}  // namespace hangdbg
