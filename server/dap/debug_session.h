// DebugSession: one editor's session, from its first byte to its last.
//
// The editor's requests are answered one after another, in their order, by the
// handlers (handlers.h); only `cancel` and `disconnect` are seen while another
// is under way. What is to be said to the editor goes through one queue, which
// one coroutine writes: while the editor does not read, nothing more is taken
// from the agent.
//
// Threads: only the one that runs the io_context. What would hold it up is done
// on the pool.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "protocol/debug_options.h"
#include "protocol/message.h"
#include "protocol/requests/initialize.h"
#include "server/coroutines/queue.h"
#include "server/coroutines/run_on.h"
#include "server/coroutines/task_group.h"
#include "server/dap/detached_children.h"
#include "server/dap/job_session.h"
#include "server/dap/launched_program.h"
#include "server/dap/questions.h"
#include "server/dap/remote_terminal.h"
#include "server/dap/shown_places.h"
#include "server/dap/sub_processes.h"
#include "server/dap/thread_watch.h"
#include "server/dap/translation.h"
#include "server/dap/transport.h"
#include "server/session/agent_session.h"
#include "server/session/hung_thread.h"
#include "server/session/out_of_process_values.h"

namespace hangdbg {

struct Handler;

class DebugSession {
 public:
  struct Machine {
    boost::asio::io_context& io;
    boost::asio::thread_pool& pool;
    Deadline::Clock::duration timeout;  // of one request
    DetachedChildren* left = nullptr;   // takes those, if not null
  };

  // How far the editor has come.
  enum class Phase { Connected, Initialized, Attached };

  DebugSession(Machine machine, std::unique_ptr<Transport> transport);

  // For a client by a socket: attach needs this token (none, if empty), and is
  // to come soon. Before that it may send little; `on_token`: it was shown.
  void guard(std::string token, std::function<void()> on_token);

  // Ends when the editor has left, and the agent with it.
  boost::asio::awaitable<void> run();

  // Has run() end. The editor is told.
  void stop();
  bool leaving() const { return leaving_; }

  // ---- for the handlers

  boost::asio::io_context& io() { return machine_.io; }
  Phase phase() const { return phase_; }
  bool admits(const std::optional<std::string>& token);
  std::unexpected<Error> refuse_token();
  Deadline deadline() const { return Deadline::in(machine_.timeout); }

  void begin(dap::Initialize::Arguments editor);
  const dap::Initialize::Arguments& editor() const { return editor_; }
  // Between it and that process.
  Translation translation_for(
      int pid,
      std::optional<std::vector<dap::PathMapping>> mappings) const;

  // Whether it has neither a target nor a terminal yet. Errors: BadMessage.
  Status check_new() const;

  // What has been launched for it; null: nothing.
  LaunchedProgram* program() { return program_.get(); }
  void own(std::unique_ptr<LaunchedProgram> program) {
    program_ = std::move(program);
  }

  void set_options(dap::DebugOptions options) { options_ = std::move(options); }
  const dap::DebugOptions& options() const { return options_; }

  // Nothing stops the program: it was launched with noDebug.
  void run_without_stops() { stops_nothing_ = true; }
  bool stops_nothing() const { return stops_nothing_; }

  // One more agent: what it has to tell is noted.
  std::unique_ptr<AgentSession> agent_for(Injection made);
  // From here on there is an agent.
  void attach(Injection made,
              ThreadSamples before,
              std::string thread,
              Translation translation);
  AgentSession& agent() { return *agent_; }
  Translation& translation() { return *translation_; }
  // How the threads waited before we came; which one the user wants to see.
  const ThreadSamples& looks_before() const { return before_; }
  const std::string& wanted_thread() const { return wanted_thread_; }

  // Of which threads the editor knows; from watch_threads() on it hears of
  // those that come and go.
  ThreadWatch& threads() { return threads_; }
  void watch_threads() { others_.spawn(threads_.follow()); }
  // From now on it is asked for a session for each process that the target
  // starts. `parent`: by which it has opened this one.
  // They wait for their breakpoints.
  boost::asio::awaitable<void> follow_sub_processes(
      dap::Attach::Arguments parent);
  // SubProcesses::hold_back(), once the agent is asked nothing else.
  boost::asio::awaitable<void> hold_children_back();

  // The editor has set what it wants to set.
  void set_configured() { configured_ = true; }
  bool configured() const { return configured_; }

  // What the editor was shown, by its numbers.
  ShownPlaces& shown() { return shown_; }

  // What is known of frames that the agent has no number for.
  OutOfProcessValues& outside() { return *outside_; }

  // Ends a request that waits or is under way.
  void cancel(std::int64_t request);

  // Threads that we have suspended, by the editor's numbers. A hold is over
  // when the agent has said so.
  bool holds(std::int64_t thread) const { return held_.contains(thread); }
  boost::asio::awaitable<Status> hold(std::int64_t thread);
  // What stops from now on the editor hears of after the running request's
  // answer.
  void answer_before_stops() { stops_wait_ = true; }
  // Whether the agent may have breakpoints of ours.
  void set_breaking() { breaking_ = true; }
  bool breaking() const { return breaking_; }
  // The running request resumes it.
  void goes_on(std::int64_t thread);
  void stays(std::int64_t thread) { held_.insert(thread); }

  // In place of an agent: the sessions of a job's ranks. Null: none.
  void open_job(std::unique_ptr<JobSession> job) { job_ = std::move(job); }
  void follow_job() { others_.spawn(job_->follow()); }
  JobSession* job() { return job_.get(); }

  // In place of an agent: a person's `attach`, until that ends. Null: none.
  void open_terminal(std::unique_ptr<RemoteTerminal> terminal);
  RemoteTerminal* terminal() { return terminal_.get(); }

  // No request comes after this one.
  void leave() { requests_.close(); }
  // Nor does the agent answer any more.
  void set_suspended() { suspended_ = true; }

  template <class Kind>
  boost::asio::awaitable<void> say(typename Kind::Body body) {
    auto event = dap::make_event<Kind>(0, body);
    return send(std::move(event));
  }
  // A line for the user.
  boost::asio::awaitable<void> note(std::string line);

  // Asks the editor. Errors: what it says; TimedOut, ChannelClosed.
  template <class Pair>
  auto ask(typename Pair::Arguments arguments)
      -> boost::asio::awaitable<Result<typename Pair::Body>> {
    auto question = dap::make_request<Pair>(0, arguments);
    const auto answer = co_await ask_editor(std::move(question));
    co_return answer ? dap::body_of<Pair>(*answer)
                     : std::unexpected(answer.error());
  }

  // For that long, or until the session's end. Whether the session continues.
  boost::asio::awaitable<bool> nap(Deadline::Clock::duration time);
  boost::asio::awaitable<bool> nap(boost::asio::steady_timer& timer);

  // Does `work` on the pool.
  template <class Work>
  auto on_pool(Work work)
      -> boost::asio::awaitable<std::invoke_result_t<Work>> {
    return result_on(machine_.pool.get_executor(), std::move(work));
  }

 private:
  boost::asio::awaitable<void> read_requests();
  boost::asio::awaitable<bool> take(dap::Message message);
  boost::asio::awaitable<void> answer(dap::Request request);
  boost::asio::awaitable<dap::Response> handle(const Handler& handler,
                                               const dap::Request& request);
  boost::asio::awaitable<void> do_after(const Handler& handler,
                                        const dap::Request& request);
  void hurry();
  boost::asio::awaitable<Result<dap::Response>> ask_editor(
      dap::Request question);
  boost::asio::awaitable<void> write_messages();
  boost::asio::awaitable<void> pass_events();
  boost::asio::awaitable<void> tell_early_stops();
  boost::asio::awaitable<void> tell_end();
  boost::asio::awaitable<void> tell_coordinator_left();
  boost::asio::awaitable<void> pass_terminal();
  boost::asio::awaitable<void> end_unless_attached();
  boost::asio::awaitable<void> close_after(Deadline::Clock::duration time);
  boost::asio::awaitable<void> send(dap::Message message);

  Machine machine_;
  std::unique_ptr<Transport> transport_;
  Queue<dap::Request> requests_;
  Queue<std::string> messages_;  // to the editor
  TaskGroup writer_;
  TaskGroup others_;
  boost::asio::steady_timer patience_;
  boost::asio::steady_timer detach_timer_;
  std::string token_;
  std::function<void()> on_token_;
  bool admitted_ = true;  // false: the token has not come yet
  bool guessed_wrong_ = false;
  std::int64_t next_seq_ = 1;
  bool leaving_ = false;
  bool suspended_ = false;

  std::set<std::int64_t> waiting_;    // requests in the queue
  std::set<std::int64_t> cancelled_;  // of them, and the running one
  std::optional<std::int64_t> running_;

  Questions questions_;
  std::set<boost::asio::steady_timer*> naps_;

  Phase phase_ = Phase::Connected;
  dap::Initialize::Arguments editor_;
  dap::DebugOptions options_;
  std::optional<Translation> translation_;
  ThreadSamples before_;
  std::string wanted_thread_;
  std::unique_ptr<AgentSession> agent_;
  std::optional<OutOfProcessValues> outside_;
  std::unique_ptr<JobSession> job_;
  std::unique_ptr<RemoteTerminal> terminal_;
  std::unique_ptr<LaunchedProgram> program_;
  ShownPlaces shown_;
  ThreadWatch threads_;
  bool configured_ = false;
  std::set<std::int64_t> held_;
  boost::asio::steady_timer stop_came_;  // cancelled by a thread's `stopped`
  bool breaking_ = false;
  bool stops_nothing_ = false;
  bool stops_wait_ = false;  // for the running request's answer
  std::vector<dap::Event> early_stops_;
  std::unique_ptr<SubProcesses> sub_processes_;
};

}  // namespace hangdbg
