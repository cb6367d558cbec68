// The requests that an editor may send: one struct each, with its typed pair,
// when it may come, and what `initialize` says of it.
//
//   struct PauseHandler {
//     using Pair = dap::Pause;
//     static constexpr auto kNeeds = DebugSession::Phase::Attached;
//     static void declare(dap::Capabilities&);      // may be left out
//     static Answer<Pair> handle(DebugSession&, Pair::Arguments);
//     static awaitable<void> after(DebugSession&, Pair::Arguments);
//   };
//
// after() runs when the answer has been given, and may be left out too. Those
// that only pass a question on to the agent have no struct of their own: they
// are in the table (handlers.cpp).
#pragma once

#include <string_view>

#include "protocol/requests/attach.h"
#include "protocol/requests/cancel.h"
#include "protocol/requests/configuration_done.h"
#include "protocol/requests/continue.h"
#include "protocol/requests/disconnect.h"
#include "protocol/requests/goto.h"
#include "protocol/requests/goto_targets.h"
#include "protocol/requests/initialize.h"
#include "protocol/requests/launch.h"
#include "protocol/requests/next.h"
#include "protocol/requests/pause.h"
#include "protocol/requests/scopes.h"
#include "protocol/requests/source.h"
#include "protocol/requests/stack_trace.h"
#include "protocol/requests/step_in.h"
#include "protocol/requests/step_in_targets.h"
#include "protocol/requests/step_out.h"
#include "protocol/requests/terminal/terminal.h"
#include "protocol/requests/terminal/terminal_input.h"
#include "protocol/requests/terminal/terminal_resize.h"
#include "protocol/requests/terminate.h"
#include "protocol/requests/threads.h"
#include "protocol/requests/verdict.h"
#include "server/dap/debug_session.h"

namespace hangdbg {

template <class Pair>
using Answer = boost::asio::awaitable<Result<typename Pair::Body>>;

struct Handler {
  std::string_view command;
  DebugSession::Phase needs;
  void (*declare)(dap::Capabilities& capabilities);  // may be null
  // Answers, and does what is to be done after that.
  boost::asio::awaitable<dap::Response> (*handle)(DebugSession& session,
                                                  const dap::Request& request);
  boost::asio::awaitable<void> (*after)(DebugSession& session,
                                        const dap::Request& request);
};

// Null: no such request.
const Handler* find_handler(std::string_view command);

// What all of them declare.
dap::Capabilities all_capabilities();

// A refusal as editors show it; in a dialog, with `in_dialog`.
dap::Response refusal(const dap::Request& request,
                      const Error& error,
                      bool in_dialog = false);

struct InitializeHandler {
  using Pair = dap::Initialize;
  static constexpr auto kNeeds = DebugSession::Phase::Connected;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

struct AttachHandler {
  using Pair = dap::Attach;
  static constexpr auto kNeeds = DebugSession::Phase::Initialized;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
  static boost::asio::awaitable<void> after(DebugSession& session,
                                            Pair::Arguments arguments);
};

struct LaunchHandler {
  using Pair = dap::Launch;
  static constexpr auto kNeeds = DebugSession::Phase::Initialized;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
  static boost::asio::awaitable<void> after(DebugSession& session,
                                            Pair::Arguments arguments);
};

// May come before the attach response, and even before `attach`.
struct ConfigurationDoneHandler {
  using Pair = dap::ConfigurationDone;
  static constexpr auto kNeeds = DebugSession::Phase::Initialized;
  static void declare(dap::Capabilities& capabilities);
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
  static boost::asio::awaitable<void> after(DebugSession& session,
                                            Pair::Arguments arguments);
};

struct ThreadsHandler {
  using Pair = dap::Threads;
  static constexpr auto kNeeds = DebugSession::Phase::Attached;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

struct StackTraceHandler {
  using Pair = dap::StackTrace;
  static constexpr auto kNeeds = DebugSession::Phase::Attached;
  static void declare(dap::Capabilities& capabilities);
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

struct ScopesHandler {
  using Pair = dap::Scopes;
  static constexpr auto kNeeds = DebugSession::Phase::Attached;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

struct SourceHandler {
  using Pair = dap::SourceText;
  static constexpr auto kNeeds = DebugSession::Phase::Attached;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

struct ContinueHandler {
  using Pair = dap::Continue;
  static constexpr auto kNeeds = DebugSession::Phase::Attached;
  static void declare(dap::Capabilities& capabilities);
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

struct PauseHandler {
  using Pair = dap::Pause;
  static constexpr auto kNeeds = DebugSession::Phase::Attached;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
  static boost::asio::awaitable<void> after(DebugSession& session,
                                            Pair::Arguments arguments);
};

struct NextHandler {
  using Pair = dap::Next;
  static constexpr auto kNeeds = DebugSession::Phase::Attached;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

struct StepInHandler {
  using Pair = dap::StepIn;
  static constexpr auto kNeeds = DebugSession::Phase::Attached;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

struct StepInTargetsHandler {
  using Pair = dap::StepInTargets;
  static constexpr auto kNeeds = DebugSession::Phase::Attached;
  static void declare(dap::Capabilities& capabilities);
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

struct StepOutHandler {
  using Pair = dap::StepOut;
  static constexpr auto kNeeds = DebugSession::Phase::Attached;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

struct GotoTargetsHandler {
  using Pair = dap::GotoTargets;
  static constexpr auto kNeeds = DebugSession::Phase::Attached;
  static void declare(dap::Capabilities& capabilities);
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

struct GotoHandler {
  using Pair = dap::Goto;
  static constexpr auto kNeeds = DebugSession::Phase::Attached;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

// Is answered while another is under way.
struct CancelHandler {
  using Pair = dap::Cancel;
  static constexpr auto kNeeds = DebugSession::Phase::Connected;
  static void declare(dap::Capabilities& capabilities);
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

// A person's `attach` on this machine, in place of an agent.
struct TerminalHandler {
  using Pair = dap::Terminal;
  static constexpr auto kNeeds = DebugSession::Phase::Connected;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

struct TerminalInputHandler {
  using Pair = dap::TerminalInput;
  static constexpr auto kNeeds = DebugSession::Phase::Connected;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

struct TerminalResizeHandler {
  using Pair = dap::TerminalResize;
  static constexpr auto kNeeds = DebugSession::Phase::Connected;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments screen);
};

struct TerminateHandler {
  using Pair = dap::Terminate;
  static constexpr auto kNeeds = DebugSession::Phase::Initialized;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

// While there is a target, suspended or not.
struct VerdictHandler {
  using Pair = dap::Verdict;
  static constexpr auto kNeeds = DebugSession::Phase::Attached;
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

struct DisconnectHandler {
  using Pair = dap::Disconnect;
  static constexpr auto kNeeds = DebugSession::Phase::Connected;
  static void declare(dap::Capabilities& capabilities);
  static Answer<Pair> handle(DebugSession& session, Pair::Arguments arguments);
};

}  // namespace hangdbg
