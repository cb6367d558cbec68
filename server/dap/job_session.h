// JobSession: an editor's session for a whole parallel job.
//
// The editor is asked to open a session for each rank that it wants to see
// (startDebugging); those are sessions like any other, perhaps of other
// servers. This one sees to it that the job survives them: it attaches to all
// ranks, raises the timeouts of their process groups, lets no session hold a
// thread while a collective is under way that began before, limits the time for
// which ranks may be suspended, and resumes all when it ends, however that is.
// It meets the ranks' sessions in the agents (agent/coordination.py;
// docs/decisions/0061).
//
// Threads: only the one that runs the io_context.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspector/jobs/choice.h"
#include "protocol/breakpoint.h"
#include "protocol/message.h"
#include "protocol/requests/attach.h"
#include "server/coroutines/task_group.h"
#include "server/rank_breakpoints/rendezvous_point.h"
#include "server/rank_breakpoints/stop_budget.h"
#include "server/rank_breakpoints/timeout_override.h"
#include "server/session/agent_session.h"

namespace hangdbg {

class DebugSession;

class JobSession {
 public:
  // `parent`: by which the editor has asked for it. `id`: unique.
  JobSession(DebugSession& session,
             ChosenRanks chosen,
             dap::Attach::Arguments parent,
             std::string id);

  // To all ranks of the job. Errors: of the first, where it could be to none.
  boost::asio::awaitable<Status> attach();

  // All that is said above, until the session's end.
  boost::asio::awaitable<void> follow();

  // What the editor asks a session that has no process of its own.
  static dap::Response answer(const dap::Request& request);

  // Ends all waits for an agent.
  void interrupt();
  // Leaves all of them.
  boost::asio::awaitable<void> close();

 private:
  struct Rank {
    JobRank who;
    bool wanted = false;  // has a session of its own
    std::unique_ptr<AgentSession> agent{};
    bool over = false;
    bool had_turn = false;      // to be opened
    bool opened = false;        // or refused
    bool said_dead = false;     // that it stops nowhere
    std::int64_t counted = 0;   // by the agent: so many times
    std::int64_t standing = 0;  // threads
    std::int64_t waiting = 0;   // breakpoints that are to be let live
  };

  template <class Work>
  boost::asio::awaitable<void> in_each(Work work);
  boost::asio::awaitable<void> attach(Rank& rank);
  boost::asio::awaitable<void> listen(Rank& rank);
  boost::asio::awaitable<void> bring_in(Rank& rank);
  boost::asio::awaitable<void> await_turn(const Rank& rank);
  boost::asio::awaitable<Status> coordinate(Rank& rank,
                                            bool live,
                                            std::vector<dap::Collective> after);
  boost::asio::awaitable<void> open_session(Rank& rank, bool overseen);
  boost::asio::awaitable<void> await_old();
  boost::asio::awaitable<std::string> say(
      const std::vector<OldCollective>& pending,
      std::string said);
  boost::asio::awaitable<void> let_hold();
  boost::asio::awaitable<void> let_live();
  boost::asio::awaitable<void> let_live_together();
  boost::asio::awaitable<void> let_live(std::vector<dap::Collective> after);
  boost::asio::awaitable<CommonGroups> how_far();
  bool any_stands() const;
  void forget_ended(CollectivesWithOriginalTimeout& collectives) const;
  boost::asio::awaitable<void> keep_time();
  boost::asio::awaitable<void> ask_how_far();
  boost::asio::awaitable<void> watch_fixed_timeouts();
  boost::asio::awaitable<void> count_down(const std::set<int>& standing);
  boost::asio::awaitable<void> tell(
      const std::vector<StopBudget::Limit>& limits);
  AgentSession::Awaitable<dap::ProcessGroups::Body> process_groups(
      Rank& rank,
      std::optional<std::chrono::milliseconds> raise_by);

  DebugSession& session_;
  ChosenRanks chosen_;
  dap::Attach::Arguments parent_;
  std::string id_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  bool attached_ = false;  // as far as they could be
  TimeoutOverride raised_;
  std::optional<StopBudget> stop_budget_;  // once threads may be held
  boost::asio::steady_timer turns_;        // until then
  boost::asio::steady_timer wake_;
  Deadline next_watch_ = Deadline::in({});
  std::optional<std::chrono::seconds> said_left_;
  Deadline settled_ = Deadline::in({});  // until all breakpoints are there
  TaskGroup tasks_;
};

}  // namespace hangdbg
