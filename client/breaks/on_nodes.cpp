#include "client/breaks/on_nodes.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "client/breaks/ranks_on_nodes.h"
#include "client/nodes/gather.h"
#include "client/nodes/own_job.h"
#include "client/terminal/render.h"
#include "client/terminal/typed.h"
#include "nodes/asking/live_nodes.h"
#include "nodes/hosts/host_list.h"
#include "protocol/json.h"
#include "protocol/reports/ps.h"
#include "server/rank_breakpoints/timeout_override.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

// For a node to attach to its ranks, beside what each request may take.
constexpr auto kToPrepare = std::chrono::seconds(10);
constexpr auto kBetweenLooksAtNodes = milliseconds(100);
constexpr auto kWatchNodes = std::chrono::seconds(1);
constexpr auto kNodesToEnd = std::chrono::seconds(8);
// What is over so soon needs no word.
constexpr auto kPatienceForOld = milliseconds(500);
// A node says by itself that no rank came.
constexpr auto kToSayNobodyCame = std::chrono::seconds(5);

Status check(const Launcher& launcher) {
  if (!launcher.forwards_input()) {
    return fail(ErrorId::Usage,
                "this launcher carries no input: a node could be told nothing",
                typed_with("--via", "ssh:" + fold_hosts(launcher.nodes())));
  }
  return {};
}

// The nodes that have ranks of the job. It also brings hangdbg to where it is
// not.
Result<std::vector<std::string>> nodes_with_ranks(const BreakOnNodes& options) {
  std::vector<std::string> words = {
      "ps", "--json", "--timeout", fmt::format("{}", options.common.timeout_s)};
  const bool named = !options.job.job.empty() && options.job.job != "auto";
  std::vector<std::string> nodes;
  const AskedNodes asked = TRY(gather_from_nodes(
      options.via, options.common, std::move(words),
      [&](const NodeAnswer& answer) {
        const auto json = Json::parse(answer.out);
        const auto listed =
            json ? decode<reports::PsProcesses>(*json)
                 : Result<reports::PsProcesses>(std::unexpected(json.error()));
        if (listed &&
            std::ranges::any_of(listed->processes, [&](const auto& one) {
              return one.role == "rank" &&
                     (!named || one.job == options.job.job);
            })) {
          nodes.push_back(answer.node);
        }
      }));
  if (!asked.failed.empty()) {
    // Its ranks may be any.
    report_failed(asked.failed, Palette(options.common.colour, stderr));
    return fail(asked.failed.front().why.id,
                "no breakpoint set: the timeouts of all ranks are raised, or "
                "none");
  }
  if (nodes.empty()) {
    return fail(ErrorId::NoSuchRank,
                named ? fmt::format("no rank of {} is on these nodes",
                                    printable(options.job.job))
                      : "no ranks of a job are on these nodes",
                "hangdbg ps --via " + shell_quote(options.via.how));
  }
  std::ranges::sort(nodes, [](const std::string& one, const std::string& two) {
    return std::pair(one.size(), one) < std::pair(two.size(), two);
  });
  return nodes;
}

std::vector<std::string> words_for_break() {
  auto words = words_for_nodes();
  for (const char* const flag : {"--json", "--ranks-elsewhere"}) {
    remove_option(words, flag, /*value=*/false);
  }
  add_option_word(words, "--json");
  add_option_word(words, "--by-orders");
  return words;
}

struct Phases {
  const BreakOnNodes& options;
  RanksOnNodes& ranks;
  TimeoutOverride raised;
  BreakEvents* events;
  Palette err;

  bool stops() const { return !options.commands.empty(); }
  Status prepare();
  Status check_ranks(const RankSet& here);
  Status await_old();
  Result<int> stop();
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
  std::map<int, std::string> known;
  Job job;
  const reports::PreparedEvent& first = *ranks.nodes().front().prepared;
  for (const RanksOfOne& node : ranks.nodes()) {
    for (const reports::RankGroups& one : node.prepared->ranks) {
      const auto [other, added] = known.emplace(one.rank, node.name);
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
  const auto is_meant = [&](const auto& one) {
    return choice.includes(one.first);
  };
  RankSet absent;
  if (const RankSet* const named = choice.named()) {
    for (const int rank : named->numbers()) {
      if (!here.contains(rank)) {
        absent.add(rank);
      }
    }
  }
  if (!absent.empty() || std::ranges::none_of(known, is_meant)) {
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
  return {};
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
      now += describe(one, {}) + "\n";
    }
    if (patience.expired() && now != said) {
      say(stderr, "{}", err.dim(printable(now)));
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

Result<int> Phases::stop() {
  ranks.tell({.what = "arm", .ms = raised.longest().count()});
  const Deadline last =
      Deadline::in(options.deadline.left() + raised.longest() +
                   options.common.deadline().left() + kToSayNobodyCame);
  Deadline next_watch = Deadline::in(kWatchNodes);
  for (;;) {
    TRY(ranks.hear(last.capped(next_watch.left())));
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
    if (next_watch.expired()) {
      next_watch = Deadline::in(kWatchNodes);
      TRY(watch());
    }
  }
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

Result<int> in_phases(const BreakOnNodes& options,
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

}  // namespace

Result<int> break_on_nodes(const BreakOnNodes& options,
                           std::optional<BreakEvents>& events) {
  const auto launcher = TRY(chosen_launcher(options.via, options.common));
  TRY(check(*launcher));
  const auto nodes = TRY(nodes_with_ranks(options));
  if (options.common.json) {
    events.emplace();
  }
  LiveNodes live(*launcher, nodes, words_for_break(), typed_words());
  RanksOnNodes ranks(live, nodes, options.common, options.commands.size(),
                     events ? &*events : nullptr);
  auto code = in_phases(options, ranks, events ? &*events : nullptr);
  live.tell(encode(reports::BreakOrder{.what = "end"}).dump());
  live.end(Deadline::in(kNodesToEnd));
  return code;
}

}  // namespace hangdbg
