// AgentSession: one client's way to one target, from attach to detach, as
// coroutines.
//
// Holds what an attach made - the channels into the agent, and what preflight
// saw - and asks the agent typed DAP questions over them. A question that the
// agent cannot answer because the GIL is held is watched out of process:
// the session names the holder, and lets the agent acquire it blocking once
// the holder is seen to make progress. Meanwhile it answers what it can from
// outside.
//
// One call at a time. Threads: only the one that runs the io_context; looks at
// the GIL, which take up to 60 ms, run where the owner says, one after another.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/deadline.h"
#include "base/result.h"
#include "injector/inject.h"
#include "injector/steps.h"
#include "inspector/cpython/runtime/gil.h"
#include "protocol/message.h"
#include "protocol/requests/hello.h"
#include "protocol/requests/stack_trace.h"
#include "protocol/requests/threads.h"
#include "server/coroutines/task_group.h"
#include "server/session/agent_connection.h"
#include "server/session/gil_watch.h"
#include "server/session/out_of_process_view.h"

namespace hangdbg {

// Injects our agent, or joins the one that is there. Errors: inject()'s.
Result<Injection> inject_agent(int pid, Deadline deadline);

// Nothing is injected: channels without a peer. Errors: preflight()'s.
Result<Injection> stay_outside(int pid);

class AgentSession {
 public:
  template <class T>
  using Awaitable = boost::asio::awaitable<Result<T>>;
  // Why a call takes long: one line, for stderr or a status bar.
  using OnNotice = std::function<void(const std::string&)>;

  AgentSession(boost::asio::io_context& io,
               const boost::asio::any_io_executor& looks,
               Injection made,
               OnNotice on_notice);
  // close(). No call may run, and none wait for an event.
  ~AgentSession();
  AgentSession(const AgentSession&) = delete;
  AgentSession& operator=(const AgentSession&) = delete;

  // Asks the agent. Errors: what the agent answers (ExpressionFailed,
  // NoSuchFrame, ...; error_of); GilHeld, naming the holder; TimedOut (the
  // evaluation was cancelled, or says that it could not be); Interrupted;
  // ChannelClosed, TargetDied.
  template <class Pair>
  Awaitable<typename Pair::Body> call(typename Pair::Arguments arguments,
                                      Deadline deadline) {
    auto request = dap::make_request<Pair>(0, arguments);
    const auto response = co_await call_raw(std::move(request), deadline);
    co_return response ? dap::body_of<Pair>(*response)
                       : std::unexpected(response.error());
  }

  // The whole response, also one that says no (its ErrorBody has more than an
  // Error can carry). The request's seq is ours to set.
  Awaitable<dap::Response> call_raw(dap::Request request, Deadline deadline);

  // Which Python it is; the threads that run Python; the stack of one. Threads
  // go by our numbers here; the agent has those of the target's PID namespace.
  // While the GIL cannot be had, the answers are made out of process
  // (out_of_process_view.h); its frames have no number, so that a question
  // about one is answered with NoSuchFrame. Errors: those of call(),
  // Unreadable.
  Awaitable<dap::Hello::Body> hello(Deadline deadline);
  Awaitable<dap::Threads::Body> threads(Deadline deadline);
  Awaitable<dap::StackTrace::Body> stack(dap::StackTrace::Arguments wanted,
                                         Deadline deadline);

  // Of the last stack() that was made out of process: its frames, in its order.
  const std::vector<PythonFrame>& outside_frames() const {
    return view_.frames();
  }

  // The threads without the agent's help.
  Result<dap::Threads::Body> threads_outside() {
    return view_.threads(interpreter_);
  }

  // Whether they may be; to begin with, yes. No: they wait for the agent as all
  // others do. Then a frame has the number by which it can be asked something.
  void allow_outside(bool allowed) { outside_allowed_ = allowed; }

  // There is no agent, because of that: those three are made out of process,
  // and all else is answered with it. At once after the constructor.
  void stay_outside(Error why) { outside_ = std::move(why); }
  bool is_outside() const { return outside_.has_value(); }
  Status entered() const;

  // Whether only those three can be answered: the agent waits for the GIL with
  // a question that was given up. It ends by itself when the agent gets it; to
  // be asked again and again, since this is also what lets it.
  boost::asio::awaitable<bool> read_only();
  // GilWatch::reason() of the last look.
  boost::asio::awaitable<std::string> why_read_only();

  // Steps pass by functions of libraries, and stacks show these as `subtle`.
  void look_at_my_code() { just_my_code_ = true; }

  // Sends the agent one of its on-demand parts ("completions", "objects") if
  // it does not have it yet.
  Awaitable<void> need(std::string module, Deadline deadline);
  // All those by which threads are stepped, and stopped at breakpoints. Errors:
  // NoSafeThread in another interpreter than the main one.
  Awaitable<void> need_stepping(Deadline deadline);
  Awaitable<void> need_breakpoints(Deadline deadline);

  // From now on asks in the interpreter in which that thread is: each has its
  // own threads, modules and, from 3.12 on, perhaps GIL. Whether that is
  // another than before.
  Awaitable<bool> follow_thread(int tid, Deadline deadline);
  // In the main interpreter again.
  Awaitable<void> enter_main(Deadline deadline);

  // What the agent says unasked, in its order. Nothing: time is up, or the
  // session is over.
  boost::asio::awaitable<std::optional<dap::Event>> next_event(
      Deadline deadline) {
    return connection_->next_event(deadline);
  }

  // Ends the running call, if there is one, with Interrupted.
  void interrupt();
  // The same; if there is none, the next one ends so, unless that is forgotten.
  void interrupt_or_next();
  void forget_interrupt() { interrupts_next_ = false; }

  // Leaves a subinterpreter and waits until that is done: its end must not find
  // us in it (decision 0013). To be called before close(), if time allows.
  Awaitable<void> leave_interpreter(Deadline deadline);

  // Detaches: the agent leaves when its last client has. Calls and waits end.
  void close() { connection_->close(); }

  // False once a call could neither be answered nor cancelled, or the target
  // has gone: no more requests are possible.
  bool alive() const { return alive_; }
  // How the target or the agent went away, if one has. TargetDied,
  // ChannelClosed.
  std::optional<Error> end() const;

  // Readable when the agent says something.
  int descriptor() const { return connection_->descriptor(); }

  const AttachTarget& target() const { return *target_; }

  // The GIL right now, read out of process. Errors: read_gil()'s.
  Result<GilState> gil() const;

  // Where the time of attach and of the calls so far went.
  Steps& steps() { return steps_; }

 private:
  enum class WhileHeld { Wait, GiveUp };  // the GIL
  struct GilSample {
    GilWatch::Verdict verdict;
    Deadline::Clock::duration stood;
  };

  template <class Pair>
  Awaitable<typename Pair::Body> look(typename Pair::Arguments arguments,
                                      Deadline deadline);
  Awaitable<dap::Response> ask(dap::Request request,
                               Deadline deadline,
                               WhileHeld then);
  Awaitable<dap::Response> exchange(dap::Request request, Deadline deadline);
  boost::asio::awaitable<void> watch_gil();
  boost::asio::awaitable<GilSample> sample_gil();
  boost::asio::awaitable<void> stop_watching();
  void enter_if(GilWatch::Verdict verdict, std::uint32_t call_number);
  Awaitable<dap::Response> end_call(bool sent);
  boost::asio::awaitable<bool> gave_up_evaluation();
  boost::asio::awaitable<Error> explain_timeout(HdExecutorStage stage);
  boost::asio::awaitable<std::string> why_no_reaction();
  Awaitable<void> enter(std::int64_t interpreter, Deadline deadline);
  template <class Body>
  bool is_for_view(const Result<Body>& answer) const {
    return outside_allowed_ && !answer && answer.error().id == ErrorId::GilHeld;
  }

  std::unique_ptr<AttachTarget> target_;
  Steps steps_;
  OnNotice on_notice_;
  std::shared_ptr<AgentConnection> connection_;
  boost::asio::any_io_executor looks_;  // where gil_watch_ is used
  GilWatch gil_watch_;
  OutOfProcessView view_;
  std::set<std::string> loaded_;
  std::int64_t interpreter_ = 0;  // in which the requests run
  bool alive_ = true;
  // The agent has a question that was given up: it waits for the GIL with it.
  // What is queued behind it could not be cancelled, so nothing is.
  bool owes_answer_ = false;
  Deadline gave_up_ = Deadline::in({});  // until then, just now
  bool outside_allowed_ = true;
  bool just_my_code_ = false;
  std::optional<Error> outside_;  // why no agent could enter

  // Of the running call.
  bool calling_ = false;
  WhileHeld while_held_ = WhileHeld::Wait;
  bool interrupted_ = false;
  bool interrupts_next_ = false;
  TaskGroup watch_;                // watch_gil
  boost::asio::steady_timer nap_;  // its, cut short by the call's end
};

}  // namespace hangdbg
