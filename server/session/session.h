// Session: an AgentSession for synchronous callers, such as a command: each
// function returns when it is done.
//
// The agent is listened to only while one of them runs.
//
// Threads: one. interrupt() alone may come from anywhere, a signal handler
// included.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/result.h"
#include "injector/steps.h"
#include "inspector/cpython/runtime/gil.h"
#include "protocol/message.h"
#include "protocol/requests/hello.h"
#include "protocol/requests/stack_trace.h"
#include "protocol/requests/threads.h"

namespace hangdbg {

struct AttachTarget;
class SessionLoop;

class Session {
 public:
  struct Hooks {
    // What the agent says unasked, while a call waits; whether that is all to
    // do about it. Else it is kept for wait_event().
    std::function<bool(const dap::Event&)> on_event;
    // A call takes long, and why: one line, for stderr or a status bar.
    std::function<void(const std::string&)> on_notice;
  };

  // Injects, or joins the agent that is there. Errors: inject()'s.
  static Result<std::unique_ptr<Session>> attach(int pid,
                                                 Hooks hooks,
                                                 Deadline deadline);
  // Enters nothing, and says `why`: threads and stacks are read out of process,
  // all else is answered with that error. Errors: preflight()'s.
  static Result<std::unique_ptr<Session>> open_outside(int pid,
                                                       Hooks hooks,
                                                       Error why);
  // Detaches: the agent leaves when its last client has.
  ~Session();

  // The next event that on_event leaves, of now or of earlier calls; nothing
  // when time is up. Of very many the oldest are lost. Errors: Interrupted,
  // ChannelClosed, TargetDied.
  Result<std::optional<dap::Event>> wait_event(Deadline deadline);

  // The rest is said in agent_session.h.
  template <class Pair>
  Result<typename Pair::Body> call(const typename Pair::Arguments& arguments,
                                   Deadline deadline) {
    const auto response =
        TRY(call_raw(std::string(Pair::command), encode(arguments), deadline));
    return dap::body_of<Pair>(response);
  }
  Result<dap::Response> call_raw(const std::string& command,
                                 Json arguments,
                                 Deadline deadline);
  Result<dap::Hello::Body> hello(Deadline deadline);
  Result<dap::Threads::Body> threads(Deadline deadline);
  Result<dap::StackTrace::Body> stack(std::int64_t tid,
                                      std::int64_t levels,
                                      Deadline deadline);
  void allow_outside(bool allowed);
  bool read_only();
  // Then it stays so: there is no agent.
  bool is_outside() const;
  // The error is why it was not.
  Status entered() const;
  std::string why_read_only();
  Status need(const std::string& module, Deadline deadline);
  Status need_breakpoints(Deadline deadline);
  Result<bool> follow_thread(int tid, Deadline deadline);
  Status enter_main(Deadline deadline);
  bool alive() const;
  // The process has ended, or the agent has.
  bool over() const;
  // Readable when the agent says something; not to be read from.
  int descriptor() const;
  const AttachTarget& target() const;
  Result<GilState> gil() const;
  Steps& steps();

  // Ends the running call or wait with Interrupted, or else the next one.
  // Async-signal-safe.
  void interrupt();
  // The next one is not to end for what came before.
  void forget_interrupt();

  // For callers that run coroutines of their own on the session.
  SessionLoop& loop() { return *loop_; }

 private:
  explicit Session(std::unique_ptr<SessionLoop> loop);
  std::unique_ptr<SessionLoop> loop_;
};

}  // namespace hangdbg
