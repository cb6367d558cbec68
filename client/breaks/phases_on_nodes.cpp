#include "client/breaks/phases_on_nodes.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "client/breaks/prompt_on_nodes.h"
#include "client/terminal/render.h"
#include "client/terminal/typed.h"
#include "nodes/hosts/host_list.h"
#include "server/rank_breakpoints/rendezvous_point.h"
#include "server/rank_breakpoints/timeout_override.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

// For a node to attach to its ranks, beside what each request may take.
constexpr auto kToPrepare = std::chrono::seconds(10);
constexpr auto kBetweenLooksAtNodes = milliseconds(100);
constexpr auto kWatchNodes = std::chrono::seconds(1);
// What is over so soon needs no word.
constexpr auto kPatienceForOld = milliseconds(500);
// A node says by itself that no rank came.
constexpr auto kToSayNobodyCame = std::chrono::seconds(5);

struct Phases {
  const BreakOnNodes& options;
  RanksOnNodes& ranks;
  TimeoutOverride raised;
  BreakEvents* events;
  Palette err;
  std::map<int, std::string> nodes_of = {};  // by rank
  RankSet meant = {};                        // have the breakpoint
  RankSet together = {};                     // of --hold-until
  Deadline next_watch = Deadline::in(kWatchNodes);

  bool stops() const { return options.prompts || !options.commands.empty(); }
  Status prepare();
  Status check_ranks(const RankSet& here);
  Status choose_together();
  Status await_old();
  Result<int> stop();
  Status arm();
  Result<CommonGroups> how_far();
  Status hear(Deadline deadline);
  Status await_stops();
  Status watch();
};

Status Phases::prepare() {
  ranks.tell({.what = "raise", .ms = stops() ? raised.by().count() : 0});
  const Deadline deadline =
      Deadline::in(options.common.deadline().left() + kToPrepare);
  TRY(ranks.await_all(
      [](const RanksOfOne& node) { return node.prepared.has_value(); },
      deadline, "has not raised its timeouts"));
  RankSet here;
  std::optional<int> world;
  for (const RanksOfOne& node : ranks.nodes()) {
    for (const reports::RankGroups& one : node.prepared->ranks) {
      here.add(one.rank);
      if (one.groups) {
        raised.take(one.rank, *one.groups);
      } else {
        raised.leave_out(one.rank, printable(one.failed.value_or("?")));
      }
    }
    world = node.prepared->world_size ? node.prepared->world_size : world;
  }
  for (int rank = 0; rank < std::min(world.value_or(0), 1 << 20); ++rank) {
    if (!here.contains(rank)) {
      raised.leave_out(rank, "not on these nodes");
    }
  }
  TRY(check_ranks(here));
  if (!stops()) {
    return {};
  }
  TRY(ranks.look(options.common.deadline()));
  for (const RanksOfOne& node : ranks.nodes()) {
    for (const reports::RankGroups& one : node.groups) {
      if (one.groups) {
        raised.look_again(one.rank, *one.groups);
      }
    }
  }
  for (const std::string& line : raised.text()) {
    say(stderr, "{}\n", err.dim(printable(line)));
  }
  if (events != nullptr) {
    events->raised(raised);
  }
  return {};
}

// Those that are one job, and have those that are meant.
Status Phases::check_ranks(const RankSet& here) {
  Job job;
  const reports::PreparedEvent& first = *ranks.nodes().front().prepared;
  for (const RanksOfOne& node : ranks.nodes()) {
    for (const reports::RankGroups& one : node.prepared->ranks) {
      const auto [other, added] = nodes_of.emplace(one.rank, node.name);
      if (!added || node.prepared->world_size != first.world_size) {
        return fail(ErrorId::Usage,
                    added
                        ? fmt::format("{} and {} have ranks of different jobs",
                                      ranks.nodes().front().name, node.name)
                        : fmt::format("rank {} is on {} and on {}", one.rank,
                                      other->second, node.name),
                    "hangdbg ps --via " + shell_quote(options.via.how));
      }
      job.ranks.push_back({.rank = one.rank});
    }
  }
  std::ranges::sort(job.ranks, {}, &JobRank::rank);
  const RankChoice choice = TRY(
      RankChoice::parse(options.job.ranks.empty() ? "all" : options.job.ranks));
  for (const auto& [rank, node] : nodes_of) {
    if (choice.includes(rank)) {
      meant.add(rank);
    }
  }
  RankSet absent;
  if (const RankSet* const named = choice.named()) {
    for (const int rank : named->numbers()) {
      if (!here.contains(rank)) {
        absent.add(rank);
      }
    }
  }
  if (!absent.empty() || meant.empty()) {
    return fail(ErrorId::NoSuchRank,
                fmt::format("rank {} is not on these nodes",
                            absent.empty() ? printable(options.job.ranks)
                                           : absent.text(8)),
                typed_with("--ranks", here.text()));
  }
  job.id = printable(first.job);
  job.kind = printable(first.kind);
  job.world_size = first.world_size;
  std::vector<std::string> names;
  for (const RanksOfOne& node : ranks.nodes()) {
    names.push_back(node.name);
  }
  say(stderr, "{} on {}\n", job_text(job), fold_hosts(names));
  if (events != nullptr) {
    events->job(job);
  }
  return choose_together();
}

Status Phases::choose_together() {
  if (options.hold_until.empty()) {
    return {};
  }
  const RankChoice until = TRY(RankChoice::parse(options.hold_until));
  for (const int rank : meant.numbers()) {
    if (until.includes(rank)) {
      together.add(rank);
    }
  }
  const RankSet* const named = until.named();
  return named == nullptr || *named == together
             ? Status()
             : fail(ErrorId::Usage,
                    fmt::format(
                        "--hold-until {} lists ranks without the breakpoint",
                        options.hold_until),
                    typed_with("--ranks", options.hold_until));
}

// Each ends some time: when all have reached it, or by its timeout.
Status Phases::await_old() {
  const Deadline patience = Deadline::in(kPatienceForOld);
  std::string said;
  for (;;) {
    const auto pending = raised.old().pending();
    if (pending.empty()) {
      return {};
    }
    std::string now;
    for (const OldCollective& one : pending) {
      now += printable(describe(one, {})) + "\n";
    }
    if (patience.expired() && now != said) {
      say(stderr, "{}", err.dim(now));
      if (events != nullptr) {
        events->pending(pending);
      }
      said = now;
    }
    if (options.deadline.expired()) {
      return fail(ErrorId::TimedOut,
                  "no breakpoint set: a collective that started before has not "
                  "finished",
                  "hangdbg dump --merge --via " + shell_quote(options.via.how));
    }
    TRY(ranks.hear(options.deadline.capped(kBetweenLooksAtNodes)));
    TRY(ranks.look(options.common.deadline()));
    for (const RanksOfOne& node : ranks.nodes()) {
      for (const reports::RankGroups& one : node.groups) {
        if (one.groups) {
          raised.old().look(one.rank, *one.groups);
        }
      }
    }
  }
}

// With --hold-until: so that all stop in the same round of a loop with
// collectives (rendezvous_point.h).
Status Phases::arm() {
  const auto before = together.empty() ? CommonGroups() : TRY(how_far());
  reports::BreakOrder order{.what = "arm", .ms = raised.longest().count()};
  if (before.empty()) {
    ranks.tell(order);
    return {};
  }
  order.place = never(before);
  ranks.tell(order);
  const Deadline deadline = options.common.deadline();
  for (auto last = before;;) {
    auto now = TRY(how_far());
    const auto place = rendezvous_point(last, now);
    TRY(ranks.meet(place, deadline));
    last = std::move(now);
    if (is_ahead(place, TRY(how_far())) || deadline.expired()) {
      return {};
    }
  }
}

Result<CommonGroups> Phases::how_far() {
  TRY(ranks.look(options.common.deadline()));
  std::vector<dap::ProcessGroups::Body> said;
  for (const RanksOfOne& node : ranks.nodes()) {
    for (const reports::RankGroups& one : node.groups) {
      if (meant.contains(one.rank)) {
        said.push_back(one.groups.value_or(dap::ProcessGroups::Body()));
      }
    }
  }
  return common_groups(said);
}

Status Phases::hear(Deadline deadline) {
  TRY(ranks.hear(deadline.capped(next_watch.left())));
  if (next_watch.expired()) {
    next_watch = Deadline::in(kWatchNodes);
    TRY(watch());
  }
  return {};
}

Result<int> Phases::stop() {
  TRY(arm());
  if (options.prompts) {
    const Status came = await_stops();
    if (!came && (came.error().id != ErrorId::Interrupted ||
                  ::isatty(STDIN_FILENO) != 1)) {
      return std::unexpected(came.error());
    }
    PromptOnNodes prompt(ranks, nodes_of, meant, options.common,
                         [this](Deadline deadline) { return hear(deadline); });
    return prompt.run();
  }
  const Deadline last =
      Deadline::in(options.deadline.left() + raised.longest() +
                   options.common.deadline().left() + kToSayNobodyCame);
  bool gone = together.empty();
  for (;;) {
    TRY(hear(last));
    if (!gone && ranks.arrived() == together) {
      ranks.tell({.what = "go"});
      gone = true;
    }
    int code = 0;
    bool done = true;
    for (const RanksOfOne& node : ranks.nodes()) {
      done = done && node.done;
      code = std::max(code, node.done.value_or(0));
    }
    if (done) {
      return code;
    }
    if (last.expired()) {
      return fail(ErrorId::TimedOut, "the nodes have not come to an end");
    }
  }
}

// For the prompt: of one, or of all of --hold-until.
Status Phases::await_stops() {
  const auto stands = [&](int rank) { return ranks.standing().contains(rank); };
  RankSet said;
  while (ranks.standing().empty() ||
         !std::ranges::all_of(together.numbers(), stands)) {
    TRY(hear(options.deadline));
    RankSet here;
    for (const int rank : ranks.standing()) {
      here.add(rank);
    }
    if (options.deadline.expired()) {
      return fail(ErrorId::TimedOut,
                  here.empty()
                      ? "no rank has reached the breakpoint"
                      : fmt::format("rank {} has reached the breakpoint, but "
                                    "not all of {}",
                                    here.text(8), together.text(8)),
                  "hangdbg dump --merge --via " + shell_quote(options.via.how));
    }
    if (!here.empty() && !together.empty() && here != said) {
      say(stderr, "{}\n",
          err.dim(fmt::format(
              "rank {} has reached the breakpoint; waiting for all of {}",
              here.text(8), together.text(8))));
      said = here;
    }
  }
  return {};
}

// While a rank is suspended, another may block in a call whose timeout stays.
Status Phases::watch() {
  if (ranks.standing().empty()) {
    return {};
  }
  ranks.tell_look();
  for (const RanksOfOne& node : ranks.nodes()) {
    for (const reports::RankGroups& one : node.groups) {
      if (!one.groups || ranks.standing().contains(one.rank)) {
        continue;
      }
      for (const auto& [time, why] : raised.shorter(one.rank, *one.groups)) {
        ranks.shorten(time, why);
      }
    }
  }
  return {};
}

}  // namespace

Result<int> break_in_phases(const BreakOnNodes& options,
                            RanksOnNodes& ranks,
                            BreakEvents* events) {
  Phases phases{
      options, ranks,
      TimeoutOverride(options.hold_for, static_cast<int>(ranks.nodes().size())),
      events, Palette(options.common.colour, stderr)};
  TRY(phases.prepare());
  if (phases.stops()) {
    TRY(phases.await_old());
  }
  return phases.stop();
}

}  // namespace hangdbg
