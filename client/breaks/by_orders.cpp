#include "client/breaks/by_orders.h"

#include <algorithm>
#include <map>
#include <utility>

#include "client/breaks/orders.h"
#include "client/prompt/at_stops.h"
#include "client/prompt/attached_ranks.h"
#include "client/prompt/breaks.h"
#include "client/prompt/together.h"
#include "client/terminal/interrupt.h"
#include "client/terminal/render.h"
#include "protocol/json.h"
#include "protocol/reports/break.h"
#include "protocol/reports/break_on_nodes.h"
#include "server/rank_breakpoints/timeout_override.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

constexpr auto kBetweenOrderLooks = milliseconds(50);

class RanksOfNode {
 public:
  RanksOfNode(const BreakByOrders& options, const Job& job, BreakEvents& events)
      : options_(options), job_(job), events_(events), attached_(common()) {
    attached_.tell(&events);
  }

  AttachedRanks& attached() { return attached_; }
  bool over() const { return orders_.over(); }

  // What is ordered now, if that is not done here.
  std::optional<reports::BreakOrder> look() {
    while (auto order = orders_.next()) {
      if (order->what == "look") {
        events_.tell(encode(reports::GroupsEvent{.number = order->number,
                                                 .ranks = groups({})}));
      } else if (order->what == "shorten" && attached_.timer() != nullptr) {
        attached_.timer()->shorten(milliseconds(order->ms));
      } else if (order->what == "meet") {
        meet(*order);
      } else {
        return order;
      }
    }
    return std::nullopt;
  }

  // None: the orders have ended.
  std::optional<reports::BreakOrder> await_order() {
    while (!over()) {
      if (auto order = look()) {
        return order;
      }
      attached_.await(Deadline::in(kBetweenOrderLooks));
      attached_.look();
    }
    return std::nullopt;
  }

  void raise(milliseconds by) {
    for (auto& [pid, error] : attached_.attach_all(job_.ranks)) {
      failed_.emplace(job_.find(pid)->rank, error.message);
    }
    if (by.count() > 0) {
      prepared_ = groups(by);
    } else {
      for (const JobRank& rank : job_.ranks) {
        prepared_.push_back({.rank = rank.rank});
      }
    }
    events_.tell(encode(reports::PreparedEvent{.job = job_.id,
                                               .kind = job_.kind,
                                               .world_size = job_.world_size,
                                               .ranks = prepared_}));
  }

  // Sets it on these, which are what "meet" is about from now on.
  Status arm(const std::vector<JobRank>& ranks,
             const reports::BreakOrder& order) {
    PromptBreakpoint wanted = options_.wanted;
    wanted.after = order.place;
    TRY(limit(milliseconds(order.ms)));
    armed_ = ranks;
    return ranks.empty() ? Status()
                         : set_on_ranks(attached_, ranks, wanted,
                                        /*together=*/false);
  }

  // In those of its ranks that are meant.
  void run(const reports::BreakOrder& order, CommandInterrupts& interrupts) {
    const RankChoice choice =
        RankChoice::parse(order.ranks).value_or(RankChoice());
    std::vector<AttachedRank*> there;
    for (const JobRank& rank : job_.ranks) {
      if (!choice.includes(rank.rank)) {
        continue;
      }
      if (const auto one = attached_.join(rank)) {
        there.push_back(*one);
      } else {
        events_.tell(
            encode(reports::OutputEvent{.rank = rank.rank,
                                        .command = order.text,
                                        .code = exit_code(one.error().id),
                                        .err = one.error().text()}));
      }
    }
    interrupts.run([&] { return orders_.is_interrupted(order.number); },
                   [&] {
                     run_together(there, order.text,
                                  [&](const auto& rank, const auto& printed) {
                                    events_.output(rank, order.text, printed);
                                  });
                   });
    events_.tell(encode(reports::RanEvent{.number = order.number,
                                          .suspended = suspended().numbers()}));
  }

  // Whether any of them is left.
  bool alive() {
    return std::ranges::any_of(attached_.all(), [](const AttachedRank* one) {
      return !one->session->over();
    });
  }

  // The asking side has seen what stays elsewhere.
  Status limit(milliseconds hold_for) {
    TimeoutOverride raised(hold_for);
    for (const reports::RankGroups& one : prepared_) {
      if (one.groups) {
        raised.take(one.rank, *one.groups);
      }
    }
    return attached_.limit(std::move(raised));
  }

 private:
  const CommonOptions& common() const { return options_.common; }

  std::vector<reports::RankGroups> groups(
      std::optional<milliseconds> raise_by) {
    std::vector<reports::RankGroups> all;
    for (AttachedRank* const one : attached_.all()) {
      if (one->session->over()) {
        all.push_back({.rank = one->rank.value_or(0),
                       .groups = dap::ProcessGroups::Body()});
        continue;
      }
      auto said = attached_.process_groups(*one, raise_by, common().deadline());
      all.push_back({.rank = one->rank.value_or(0)});
      if (said) {
        all.back().groups = *std::move(said);
      } else {
        all.back().failed = said.error().message;
      }
    }
    for (const auto& [rank, why] : failed_) {
      all.push_back({.rank = rank, .failed = why});
    }
    return all;
  }

  void meet(const reports::BreakOrder& order) {
    for (const JobRank& rank : armed_) {
      AttachedRank* const one = attached_.find_rank(rank.rank);
      PromptBreakpoint& last = one->state->breakpoints.all().back();
      last.after = order.place;
      const Status told = one->state->breakpoints.update(
          *one->session, last.number, common().deadline());
      if (!told) {
        events_.error(told.error());
      }
    }
    events_.tell(encode(
        reports::GroupsEvent{.number = order.number, .ranks = groups({})}));
  }

  RankSet suspended() {
    RankSet ranks;
    for (const AttachedRank* const one : attached_.all()) {
      if (one->rank && one->state && !one->state->held.empty() &&
          !one->session->over()) {
        ranks.add(*one->rank);
      }
    }
    return ranks;
  }

  const BreakByOrders& options_;
  const Job& job_;
  BreakEvents& events_;
  OrderReader orders_;
  AttachedRanks attached_;
  std::map<int, std::string> failed_;
  std::vector<reports::RankGroups> prepared_;
  std::vector<JobRank> armed_;
};

// A prompt on the asking side says what is done in them.
Result<int> obey(RanksOfNode& ranks, BreakEvents& events) {
  AttachedRanks& attached = ranks.attached();
  CommandInterrupts interrupts;
  while (!ranks.over() && ranks.alive()) {
    if (const auto order = ranks.look(); order && order->what == "run") {
      ranks.run(*order, interrupts);
    }
    std::vector<AttachedRank*> came;
    for (AttachedRank* const one : attached.all()) {
      if (one->state && !one->state->unseen.empty()) {
        one->state->notes.erase(one->state->unseen.front().tid);
        came.push_back(one);
      }
    }
    tell_stops(attached, came, /*with_text=*/true);
    tell_notes(attached);
    attached.await(Deadline::in(kBetweenOrderLooks));
    attached.look();
  }
  if (!ranks.over()) {
    events.error(
        {.id = ErrorId::TargetDied, .message = "all ranks have ended"});
    return exit_code(ErrorId::TargetDied);
  }
  return 0;
}

Status await_go(RanksOfNode& ranks, BreakEvents& events, const RankSet& here) {
  events.tell(encode(reports::ArrivedEvent{.ranks = here.numbers()}));
  while (!ranks.over()) {
    if (const auto order = ranks.look(); order && order->what == "go") {
      return {};
    }
    TRY(check_times(ranks.attached()));
    ranks.attached().await(Deadline::in(kBetweenOrderLooks));
    ranks.attached().look();
  }
  return fail(ErrorId::Interrupted, "it was ended");
}

Result<int> stop_ranks(RanksOfNode& ranks,
                       const BreakByOrders& options,
                       const ChosenRanks& chosen,
                       const reports::BreakOrder& arm,
                       BreakEvents& events) {
  TRY(ranks.arm(chosen.ranks, arm));
  if (options.commands.empty() && options.wanted.log.empty()) {
    return obey(ranks, events);
  }
  if (chosen.ranks.empty()) {
    return 0;
  }
  RankSet together;
  const RankChoice until = TRY(RankChoice::parse(
      options.hold_until.empty() ? "all" : options.hold_until));
  for (const JobRank& rank : chosen.ranks) {
    if (!options.hold_until.empty() && until.includes(rank.rank)) {
      together.add(rank.rank);
    }
  }
  BreakAtStops at{
      ranks.attached(), chosen, together, options.deadline, [&]() -> Status {
        (void)ranks.look();
        return ranks.over() ? fail(ErrorId::Interrupted, "it was ended")
                            : Status();
      }};
  if (!together.empty()) {
    at.all_here = [&] { return await_go(ranks, events, together); };
  }
  return options.wanted.log.empty() ? run_at_stops(at, options.commands)
                                    : show_log(at);
}

}  // namespace

Result<int> break_by_orders(const BreakByOrders& options,
                            std::optional<BreakEvents>& events) {
  ChosenRanks chosen =
      TRY(choose_ranks({.job = options.job.job}, options.common.deadline()));
  const RankChoice choice = TRY(
      RankChoice::parse(options.job.ranks.empty() ? "all" : options.job.ranks));
  std::erase_if(chosen.ranks, [&](const JobRank& rank) {
    return !choice.includes(rank.rank);
  });
  events.emplace();
  RanksOfNode ranks(options, chosen.job, *events);
  const auto raise = ranks.await_order();
  if (!raise || raise->what != "raise") {
    return 0;
  }
  ranks.raise(milliseconds(raise->ms));
  const auto arm = ranks.await_order();
  if (!arm || arm->what != "arm") {
    return 0;
  }
  const auto here = ranks.attached().all();
  std::optional<Interruptible> interruptible;
  if (!here.empty()) {
    interruptible.emplace(*here.front()->session);
  }
  const auto code = stop_ranks(ranks, options, chosen, *arm, *events);
  if (!code && !ranks.over()) {
    events->error(code.error());
  }
  events->tell(encode(
      reports::DoneEvent{.code = code ? *code : exit_code(code.error().id)}));
  (void)ranks.await_order();  // the end
  return code ? *code : 0;
}

}  // namespace hangdbg
