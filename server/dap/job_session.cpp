#include "server/dap/job_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "protocol/events/suspended.h"
#include "protocol/events/terminated.h"
#include "protocol/requests/coordinate.h"
#include "protocol/requests/limit.h"
#include "protocol/requests/set_breakpoints.h"
#include "protocol/requests/set_exception_breakpoints.h"
#include "protocol/requests/set_function_breakpoints.h"
#include "protocol/requests/start_debugging.h"
#include "protocol/requests/threads.h"
#include "server/coroutines/co_try.h"
#include "server/dap/debug_session.h"
#include "server/dap/handlers.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kLookAgain = milliseconds(50);
constexpr auto kJobSessionBetweenLooks = milliseconds(200);
constexpr auto kWatch = seconds(1);
constexpr auto kJobSessionFarewell = milliseconds(500);
// An editor sets a breakpoint in one session after the other.
constexpr auto kToSettle = milliseconds(150);
constexpr auto kTurns = milliseconds(500);
constexpr auto kToOpen = seconds(10);
// What is over so soon needs no word.
constexpr auto kJobSessionPatience = milliseconds(500);
// When it is said how much time is left.
constexpr std::array kCountdown = {seconds(60), seconds(30), seconds(10),
                                   seconds(5)};

// An editor's configuration has a name besides what we want to know.
struct Configuration {
  std::string name;
  dap::Attach::Arguments attach;

  template <class V>
  void fields(V& v) {
    v("name", name);
    attach.fields(v);
  }
};

milliseconds hold_for(const dap::Attach::Arguments& wanted) {
  return wanted.hold_for ? seconds(*wanted.hold_for) : kHoldFor;
}

}  // namespace

JobSession::JobSession(DebugSession& session,
                       ChosenRanks chosen,
                       dap::Attach::Arguments parent,
                       std::string id)
    : session_(session),
      chosen_(std::move(chosen)),
      parent_(std::move(parent)),
      id_(std::move(id)),
      raised_(hold_for(parent_)),
      turns_(session.io()),
      wake_(session.io()),
      tasks_(session.io().get_executor()) {
  for (const JobRank& rank : chosen_.job.ranks) {
    const bool wanted =
        std::ranges::count(chosen_.ranks, rank.pid, &JobRank::pid) > 0;
    ranks_.push_back(std::make_unique<Rank>(Rank{rank, wanted}));
  }
}

asio::awaitable<Status> JobSession::attach() {
  std::optional<Error> failed;
  raised_.leave_out(chosen_.job);
  co_await in_each([&](Rank& rank) -> asio::awaitable<void> {
    auto made = co_await session_.on_pool(
        [&] { return inject_agent(rank.who.pid, session_.deadline()); });
    if (made) {
      rank.agent = session_.agent_for(*std::move(made));
      tasks_.spawn(listen(rank));
    } else {
      raised_.leave_out(rank.who.rank, made.error().message);
      failed = failed.value_or(made.error());
    }
  });
  attached_ = true;
  const bool some = std::ranges::any_of(
      ranks_, [](const auto& rank) { return rank->agent != nullptr; });
  co_return some ? Status() : std::unexpected(*failed);
}

asio::awaitable<void> JobSession::follow() {
  turns_.expires_after(kTurns);
  for (const std::string& finding : findings(chosen_.job)) {
    co_await session_.note(finding);
  }
  co_await in_each([this](Rank& rank) { return bring_in(rank); });
  co_await in_each([this](Rank& rank) -> asio::awaitable<void> {
    const auto groups = co_await process_groups(rank, std::nullopt);
    if (groups) {
      raised_.look_again(rank.who.rank, *groups);
    }
  });
  for (const std::string& line : raised_.text()) {
    co_await session_.note(line);
  }
  co_await await_old();
  if (session_.leaving()) {
    co_return;
  }
  co_await let_hold();
  do {
    co_await keep_time();
    co_await let_live();
    wake_.expires_after(kJobSessionBetweenLooks);
  } while (co_await session_.nap(wake_));
}

dap::Response JobSession::answer(const dap::Request& request) {
  const auto all_pending = [&](std::size_t count) {
    return std::vector<dap::Breakpoint>(
        count, {.message = "it is set in the sessions of the ranks",
                .reason = "pending"});
  };
  if (request.command == dap::Threads::command) {
    return dap::make_response<dap::Threads>(0, request, {});
  }
  if (request.command == dap::SetBreakpoints::command) {
    const auto set = dap::arguments_of<dap::SetBreakpoints>(request);
    const bool some = set && set->breakpoints;
    return dap::make_response<dap::SetBreakpoints>(
        0, request, {all_pending(some ? set->breakpoints->size() : 0)});
  }
  if (request.command == dap::SetFunctionBreakpoints::command) {
    const auto set = dap::arguments_of<dap::SetFunctionBreakpoints>(request);
    return dap::make_response<dap::SetFunctionBreakpoints>(
        0, request, {all_pending(set ? set->breakpoints.size() : 0)});
  }
  if (request.command == dap::SetExceptionBreakpoints::command) {
    return dap::make_response<dap::SetExceptionBreakpoints>(0, request, {});
  }
  return refusal(request, {.id = ErrorId::BadMessage,
                           .message = "this is the session of a whole job",
                           .hint = "ask in the session of one of its ranks"});
}

void JobSession::interrupt() {
  for (const auto& rank : ranks_) {
    if (rank->agent) {
      rank->agent->interrupt();
    }
  }
}

asio::awaitable<void> JobSession::close() {
  interrupt();
  for (const auto& rank : ranks_) {
    if (rank->agent) {
      rank->agent->close();
    }
  }
  co_await tasks_.join();
}

// ---- one rank

asio::awaitable<void> JobSession::listen(Rank& rank) {
  const auto for_ever = Deadline::in(std::chrono::hours(24 * 365));
  while (auto event = co_await rank.agent->next_event(for_ever)) {
    if (event->event == dap::Suspended::event) {
      const auto body = dap::body_of<dap::Suspended>(*event);
      if (!body || body->number <= rank.counted) {
        continue;  // a newer one was faster
      }
      rank.counted = body->number;
      rank.standing = body->threads;
      if (body->waiting != rank.waiting) {
        rank.waiting = body->waiting;
        settled_ = Deadline::in(kToSettle);
      }
      wake_.cancel();
    }
  }
  rank.over = true;
  rank.standing = 0;
  if (session_.leaving()) {
    co_return;
  }
  if (const auto how = rank.agent->end()) {
    co_await session_.note(
        fmt::format("rank {}: {}", rank.who.rank, how->text()));
  }
  if (std::ranges::all_of(
          ranks_, [](const auto& one) { return one->over || !one->agent; })) {
    dap::Terminated::Body last;
    co_await session_.say<dap::Terminated>(std::move(last));
  }
}

asio::awaitable<void> JobSession::bring_in(Rank& rank) {
  const Status overseen = co_await coordinate(rank, false, {});
  co_await await_turn(rank);
  if (rank.wanted) {
    tasks_.spawn(open_session(rank, overseen.has_value()));
  }
  rank.had_turn = true;
  turns_.cancel();
  if (!overseen) {
    raised_.leave_out(rank.who.rank, overseen.error().message);
    co_return;
  }
  const auto groups = co_await process_groups(rank, raised_.by());
  raised_.take(rank.who.rank, groups);
}

// Editors list sessions in the order in which they were asked for. A slow rank
// holds the others up for no longer than all of them are waited for.
asio::awaitable<void> JobSession::await_turn(const Rank& rank) {
  const auto had_turn = [&](const auto& one) {
    return one->who.rank >= rank.who.rank || one->had_turn || one->over ||
           !one->agent;
  };
  while (!std::ranges::all_of(ranks_, had_turn) &&
         turns_.expiry() > Deadline::Clock::now()) {
    co_await turns_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

asio::awaitable<Status> JobSession::coordinate(
    Rank& rank,
    bool live,
    std::vector<dap::Collective> after) {
  const Deadline deadline = live ? Deadline::in(kWatch) : session_.deadline();
  CO_CHECK(co_await rank.agent->need("engine", deadline));
  CO_CHECK(co_await rank.agent->need("coordination", deadline));
  dap::Coordinate::Arguments wanted{.job = id_, .live = live};
  if (live) {
    wanted.milliseconds = raised_.longest().count();
  }
  if (!after.empty()) {
    wanted.after = std::move(after);
  }
  const auto done =
      co_await rank.agent->call<dap::Coordinate>(std::move(wanted), deadline);
  co_return done ? Status() : std::unexpected(done.error());
}

asio::awaitable<void> JobSession::open_session(Rank& rank, bool overseen) {
  Configuration wanted{fmt::format("rank {}", rank.who.rank), parent_};
  wanted.attach.process_id = LooseText{std::to_string(rank.who.pid)};
  wanted.attach.job.reset();
  wanted.attach.ranks.reset();
  wanted.attach.hold_for.reset();
  if (overseen) {
    wanted.attach.coordinator = id_;
  } else {
    co_await session_.note(fmt::format(
        "rank {} is not looked after: what its session holds stands for as "
        "long as you let it",
        rank.who.rank));
  }
  dap::StartDebugging::Arguments question{"attach", encode(wanted)};
  const auto opened =
      co_await session_.ask<dap::StartDebugging>(std::move(question));
  rank.opened = true;
  if (!opened && !session_.leaving()) {
    co_await session_.note(fmt::format("rank {} has no session: {}",
                                       rank.who.rank, opened.error().text()));
  }
}

auto JobSession::process_groups(Rank& rank,
                                std::optional<milliseconds> raise_by)
    -> AgentSession::Awaitable<dap::ProcessGroups::Body> {
  const Deadline deadline =
      raise_by ? session_.deadline() : Deadline::in(kWatch);
  CO_CHECK(co_await rank.agent->need("engine", deadline));
  CO_CHECK(co_await rank.agent->need("process_groups", deadline));
  dap::ProcessGroups::Arguments arguments;
  if (raise_by) {
    arguments.raise_by_ms = raise_by->count();
  }
  co_return co_await rank.agent->call<dap::ProcessGroups>(std::move(arguments),
                                                          deadline);
}

// Those that are attached, all at once.
template <class Work>
asio::awaitable<void> JobSession::in_each(Work work) {
  TaskGroup group(session_.io().get_executor());
  for (const auto& rank : ranks_) {
    if (!rank->over && (rank->agent || !attached_)) {
      group.spawn(work(*rank));
    }
  }
  co_await group.join();
}

// ---- until threads may be held

asio::awaitable<void> JobSession::await_old() {
  const Deadline patience = Deadline::in(kJobSessionPatience);
  std::string said;
  for (;;) {
    const auto pending = raised_.old().pending();
    if (pending.empty() || session_.leaving()) {
      co_return;
    }
    if (patience.expired()) {
      said = co_await say(pending, std::move(said));
    }
    if (!co_await session_.nap(kLookAgain)) {
      co_return;
    }
    co_await in_each([this](Rank& rank) -> asio::awaitable<void> {
      const auto groups = co_await process_groups(rank, std::nullopt);
      if (groups) {
        raised_.old().look(rank.who.rank, *groups);
      }
    });
    forget_ended(raised_.old());
  }
}

// Each once, however much of its time is left. What has been said.
asio::awaitable<std::string> JobSession::say(
    const std::vector<OldCollective>& pending,
    std::string said) {
  std::map<int, int> pids;
  for (const auto& rank : ranks_) {
    pids[rank->who.rank] = rank->who.pid;
  }
  const std::string now = co_await session_.on_pool([&] {
    std::string lines;
    for (const OldCollective& one : pending) {
      lines += (lines.empty() ? "" : "\n") + describe(one, pids);
    }
    return lines;
  });
  std::string which = now.substr(0, now.find(';'));
  if (which != said) {
    co_await session_.note(now);
  }
  co_return which;
}

asio::awaitable<void> JobSession::let_hold() {
  stop_budget_.emplace(raised_.longest());
  for (const auto& rank : ranks_) {
    stop_budget_->watch(rank->who.pid);
  }
  // All are to have their breakpoints, which are let live at once.
  const Deadline deadline = Deadline::in(kToOpen);
  const auto is_open = [](const auto& rank) {
    return rank->opened || !rank->wanted || !rank->agent || rank->over;
  };
  while ((!std::ranges::all_of(ranks_, is_open) || !settled_.expired()) &&
         !deadline.expired() && co_await session_.nap(kLookAgain)) {
  }
  co_await let_live_together();
  co_await session_.note(
      fmt::format("breakpoints are live; threads stand for {} at most",
                  timeout_text(raised_.longest())));
}

// ---- while they may be

// Breakpoints that the editor has set since.
asio::awaitable<void> JobSession::let_live() {
  const bool some = std::ranges::any_of(
      ranks_, [](const auto& rank) { return rank->waiting > 0; });
  if (some && settled_.expired()) {
    co_await let_live_together();
  }
}

// From a collective on that no rank has begun when all have been told: that is
// their own clock. While one is suspended, at once: it may be its next line.
asio::awaitable<void> JobSession::let_live_together() {
  const Deadline deadline = session_.deadline();
  auto before = co_await how_far();
  auto place = never(before);
  for (bool named = false;; named = true) {
    if (any_stands()) {
      place.clear();
    }
    co_await let_live(place);
    auto now = co_await how_far();
    if (place.empty() || (named && is_ahead(place, now)) ||
        deadline.expired() || session_.leaving()) {
      co_return;
    }
    place = rendezvous_point(before, now);
    before = std::move(now);
  }
}

asio::awaitable<void> JobSession::let_live(std::vector<dap::Collective> after) {
  co_await in_each([&](Rank& rank) -> asio::awaitable<void> {
    const Status live = co_await coordinate(rank, true, after);
    if (!live && !std::exchange(rank.said_dead, true)) {
      co_await session_.note(fmt::format("rank {} stops nowhere yet: {}",
                                         rank.who.rank, live.error().text()));
    }
  });
  settled_ = Deadline::in(kWatch);  // where it could not be, again then
}

asio::awaitable<CommonGroups> JobSession::how_far() {
  std::vector<dap::ProcessGroups::Body> said;
  co_await in_each([&](Rank& rank) -> asio::awaitable<void> {
    if (rank.wanted) {
      const auto groups = co_await process_groups(rank, std::nullopt);
      said.push_back(groups.value_or(dap::ProcessGroups::Body()));
    }
  });
  co_return common_groups(said);
}

bool JobSession::any_stands() const {
  return std::ranges::any_of(
      ranks_, [](const auto& rank) { return rank->standing > 0; });
}

asio::awaitable<void> JobSession::keep_time() {
  std::set<int> standing;
  for (const auto& rank : ranks_) {
    if (rank->standing > 0) {
      standing.insert(rank->who.pid);
    }
  }
  const auto limits = stop_budget_->follow(standing);
  co_await tell(limits);
  if (stop_budget_->wants() != StopBudget::Ask::Nothing) {
    co_await ask_how_far();
    const auto all = stop_budget_->asked();
    co_await tell(all);
  }
  co_await watch_fixed_timeouts();
  co_await count_down(standing);
}

asio::awaitable<void> JobSession::ask_how_far() {
  const StopBudget::Ask what = stop_budget_->wants();
  CollectivesWithOriginalTimeout& left = stop_budget_->left();
  co_await in_each([&](Rank& rank) -> asio::awaitable<void> {
    const auto groups = co_await process_groups(rank, std::nullopt);
    if (groups && what == StopBudget::Ask::Begin) {
      left.begin(rank.who.rank, *groups);
    } else if (groups) {
      left.look(rank.who.rank, *groups);
    }
  });
  forget_ended(left);
}

// They are in no collective.
void JobSession::forget_ended(
    CollectivesWithOriginalTimeout& collectives) const {
  for (const auto& rank : ranks_) {
    if (rank->over) {
      collectives.look(rank->who.rank, {});
    }
  }
}

asio::awaitable<void> JobSession::watch_fixed_timeouts() {
  if (!stop_budget_->end() || !next_watch_.expired()) {
    co_return;
  }
  next_watch_ = Deadline::in(kWatch);
  co_await in_each([this](Rank& rank) -> asio::awaitable<void> {
    if (rank.standing > 0) {
      co_return;
    }
    const auto groups = co_await process_groups(rank, std::nullopt);
    const auto found = groups ? raised_.shorter(rank.who.rank, *groups)
                              : std::vector<TimeoutOverride::Shorter>();
    for (const auto& [time, why] : found) {
      if (stop_budget_->shorten(time)) {
        co_await session_.note(
            fmt::format("{}: all go on in {}", why, timeout_text(time)));
      }
    }
  });
}

asio::awaitable<void> JobSession::count_down(const std::set<int>& standing) {
  const auto end = stop_budget_->end();
  if (!end || standing.empty()) {
    said_left_.reset();
    co_return;
  }
  const auto left = std::chrono::ceil<seconds>(end->left());
  const bool first = !said_left_;
  const auto due = std::ranges::find_if(kCountdown, [&](seconds mark) {
    return left <= mark && said_left_.value_or(seconds::max()) > mark;
  });
  if (!first && due == kCountdown.end()) {
    co_return;
  }
  said_left_ = left;
  RankSet ranks;
  for (const auto& rank : ranks_) {
    if (rank->standing > 0) {
      ranks.add(rank->who.rank);
    }
  }
  co_await session_.note(fmt::format("rank {} stands; all go on in {}",
                                     ranks.text(8), timeout_text(left)));
}

asio::awaitable<void> JobSession::tell(
    const std::vector<StopBudget::Limit>& limits) {
  co_await in_each([&](Rank& rank) -> asio::awaitable<void> {
    const auto limit =
        std::ranges::find(limits, rank.who.pid, &StopBudget::Limit::pid);
    if (limit == limits.end()) {
      co_return;
    }
    dap::Limit::Arguments wanted{
        std::max<std::int64_t>(limit->left.count(), 1)};
    const auto told = co_await rank.agent->call<dap::Limit>(
        std::move(wanted), Deadline::in(kWatch));
    if (!told) {
      stop_budget_->missed(rank.who.pid);
      log::warn(log::Area::Dap, "no new limit for {}: {}", rank.who.pid,
                told.error().text());
    }
  });
}

}  // namespace hangdbg
