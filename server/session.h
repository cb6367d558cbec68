// Session: one client's way to one target, from attach to detach.
//
// Holds what an attach made - the channels into the agent, and what preflight
// saw - and asks the agent typed DAP questions over them. A question that the
// agent cannot answer because somebody holds the GIL is watched from outside:
// the session says who has it, and lets the agent take it in earnest once the
// holder is seen to make progress. Meanwhile it answers what it can from
// outside.
//
// Threads: one. interrupt() alone may come from anywhere, a signal handler
// included.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "injector/steps.h"
#include "inspector/gil.h"
#include "protocol/message.h"
#include "protocol/requests/hello.h"
#include "protocol/requests/stack_trace.h"
#include "protocol/requests/threads.h"

namespace hangdbg {

struct Target;

class Session {
 public:
  struct Hooks {
    // `output` events, while a call waits.
    std::function<void(const dap::Event&)> on_event;
    // A call takes long, and why: one line, for stderr or a status bar.
    std::function<void(const std::string&)> on_notice;
  };

  // Injects, or joins the agent that is there. Errors: inject()'s.
  static Result<std::unique_ptr<Session>> attach(int pid,
                                                 Hooks hooks,
                                                 Deadline deadline);
  // Detaches: the agent leaves when its last client has.
  ~Session();

  // Asks the agent. Errors: what the agent answers (ExpressionFailed,
  // NoSuchFrame, ...; error_of); GilHeld, naming the holder; TimedOut (the
  // evaluation was cancelled, or says that it could not be); Interrupted;
  // ChannelClosed, TargetDied.
  template <class Pair>
  Result<typename Pair::Body> call(const typename Pair::Arguments& arguments,
                                   Deadline deadline) {
    const auto response =
        TRY(call_raw(std::string(Pair::command), encode(arguments), deadline));
    return dap::body_of<Pair>(response);
  }

  // Which Python it is; the threads that run Python; the stack of one, its
  // `levels` innermost frames (0: all). Threads go by our numbers here; the
  // agent has those of the target's PID namespace. While the GIL is not to be
  // had, the answers are made from outside (outside_view.h); its frames have no
  // number, so that a question about one is answered with NoSuchFrame. Errors:
  // those of call(), Unreadable.
  Result<dap::Hello::Body> hello(Deadline deadline);
  Result<dap::Threads::Body> threads(Deadline deadline);
  Result<dap::StackTrace::Body> stack(std::int64_t tid,
                                      std::int64_t levels,
                                      Deadline deadline);

  // Whether they may be; to begin with, yes. No: they wait for the agent as all
  // others do. Then a frame has the number by which it can be asked something.
  void allow_outside(bool allowed);

  // Whether only those three can be answered: the agent waits for the GIL with
  // a question that was given up. It ends by itself when the agent gets it; to
  // be asked again and again, since this is also what lets it.
  bool read_only();
  // GilWatch::reason() of the last look.
  std::string why_read_only();

  // The whole response, also one that says no (its ErrorBody has more than an
  // Error can carry).
  Result<dap::Response> call_raw(const std::string& command,
                                 Json arguments,
                                 Deadline deadline);

  // Sends the agent one of its on-demand parts ("completions", "objects") if
  // it does not have it yet.
  Status need(const std::string& module, Deadline deadline);

  // From now on asks in the interpreter in which that thread is: each has its
  // own threads, modules and, from 3.12 on, perhaps GIL. Whether that is
  // another than before.
  Result<bool> follow_thread(int tid, Deadline deadline);
  // In the main interpreter again.
  Status enter_main(Deadline deadline);

  // Ends the running call with Interrupted. Async-signal-safe.
  void interrupt();

  // False once a call could neither be answered nor cancelled, or the target
  // has gone: nothing more can be asked.
  bool alive() const;

  const Target& target() const;

  // The GIL right now, read from outside. Errors: read_gil()'s.
  Result<GilState> gil() const;

  // Where the time of attach and of the calls so far went.
  Steps& steps();

 private:
  enum class WhileHeld { Wait, GiveUp };  // the GIL

  Session();
  Result<dap::Response> ask(dap::Request request,
                            Deadline deadline,
                            WhileHeld then);
  template <class Pair>
  Result<typename Pair::Body> look(const typename Pair::Arguments& arguments,
                                   Deadline deadline);
  Status enter(std::int64_t interpreter, Deadline deadline);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hangdbg
