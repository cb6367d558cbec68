#include "client/breaks/ranks_on_nodes.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "nodes/hosts/host_list.h"
#include "protocol/reports/break.h"
#include "server/rank_breakpoints/timeout_override.h"

namespace hangdbg {
namespace {

// Ctrl-C ends it sooner.
constexpr auto kLongestCommand = std::chrono::hours(24);

}  // namespace

RanksOnNodes::RanksOnNodes(LiveNodes& live,
                           const std::vector<std::string>& nodes,
                           const CommonOptions& common,
                           std::size_t commands,
                           BreakEvents* events)
    : live_(live),
      events_(events),
      out_(common.colour, stdout),
      err_(common.colour, stderr),
      commands_(commands) {
  for (const std::string& name : nodes) {
    nodes_.push_back({.name = name});
  }
}

void RanksOnNodes::tell(const reports::BreakOrder& order) {
  live_.tell(encode(order).dump());
}

Status RanksOnNodes::hear(Deadline deadline) {
  for (const auto& [name, line] : TRY(live_.hear(deadline))) {
    const auto node = std::ranges::find(nodes_, name, &RanksOfOne::name);
    const auto json = Json::parse(line);
    const auto any =
        json ? decode<reports::AnyEvent>(*json) : std::unexpected(json.error());
    const Status taken =
        any ? take(*node, *json, any->event) : std::unexpected(any.error());
    if (!taken) {
      return fail(ErrorId::BadMessage,
                  fmt::format("{}: what it says cannot be read: {}", name,
                              printable(taken.error().message)));
    }
  }
  return {};
}

Status RanksOnNodes::await_all(
    const std::function<bool(const RanksOfOne&)>& there,
    Deadline deadline,
    const std::string& what) {
  for (;;) {
    std::vector<std::string> missing;
    for (const RanksOfOne& node : nodes_) {
      if (!there(node)) {
        missing.push_back(node.name);
      }
    }
    if (missing.empty()) {
      return {};
    }
    if (deadline.expired()) {
      return fail(ErrorId::TimedOut,
                  fmt::format("{} {}", fold_hosts(missing), what));
    }
    TRY(hear(deadline));
  }
}

Status RanksOnNodes::look(Deadline deadline) {
  tell_look();
  return await_all(
      [this](const RanksOfOne& node) { return node.looked == looks_; },
      deadline, "does not say how far its ranks are");
}

void RanksOnNodes::tell_look() {
  tell({.what = "look", .number = ++looks_});
}

Status RanksOnNodes::meet(const std::vector<dap::Collective>& place,
                          Deadline deadline) {
  tell({.what = "meet", .number = ++looks_, .place = place});
  return await_all(
      [this](const RanksOfOne& node) { return node.looked == looks_; },
      deadline, "does not say where its ranks are to meet");
}

Status RanksOnNodes::run(const RankSet& in, const std::string& command) {
  tell({.what = "run",
        .number = ++commands_run_,
        .ranks = in.text(),
        .text = command});
  for (bool interrupted = false;;) {
    const Status done = await_all(
        [this](const RanksOfOne& node) { return node.ran == commands_run_; },
        Deadline::in(kLongestCommand), "has not run the command");
    if (done || done.error().id != ErrorId::Interrupted || interrupted) {
      return done;
    }
    interrupted = true;
    live_.interrupt(encode(reports::BreakOrder{.what = "interrupt",
                                               .number = commands_run_})
                        .dump());
  }
}

void RanksOnNodes::shorten(std::chrono::milliseconds time,
                           const std::string& why) {
  if (shortened_ && *shortened_ <= time) {
    return;
  }
  shortened_ = time;
  tell({.what = "shorten", .ms = time.count()});
  begin_showing();
  say(stderr, "{}\n",
      err_.dim(fmt::format("{}: all resume in {}", printable(why),
                           timeout_text(time))));
  if (events_ != nullptr) {
    events_->shortened(why, time);
  }
}

Status RanksOnNodes::take(RanksOfOne& node,
                          const Json& json,
                          const std::string& event) {
  if (event == "prepared") {
    node.prepared = TRY(decode<reports::PreparedEvent>(json));
  } else if (event == "groups") {
    auto groups = TRY(decode<reports::GroupsEvent>(json));
    node.groups = std::move(groups.ranks);
    node.looked = groups.number;
  } else if (event == "ran") {
    const auto ran = TRY(decode<reports::RanEvent>(json));
    node.ran = ran.number;
    for (const reports::RankGroups& one : node.prepared->ranks) {
      standing_.erase(one.rank);
    }
    standing_.insert(ran.suspended.begin(), ran.suspended.end());
  } else if (event == "arrived") {
    for (const int rank : TRY(decode<reports::ArrivedEvent>(json)).ranks) {
      arrived_.add(rank);
      standing_.insert(rank);
    }
  } else if (event == "done") {
    node.done = TRY(decode<reports::DoneEvent>(json)).code;
  } else if (event == "breakpoint") {
    auto made = TRY(decode<reports::BreakpointEvent>(json));
    RankSet ranks;
    for (const int rank : made.ranks) {
      ranks.add(rank);
    }
    begin_showing();
    say(stderr, "{}\n",
        err_.dim(printable(fmt::format(
            "breakpoint at {} on rank {} of {}{}", made.place, ranks.text(8),
            node.name, made.message ? ": " + *made.message : ""))));
    pass_on(node, std::move(made));
  } else if (event == "stop") {
    auto stop = TRY(decode<reports::StopEvent>(json));
    standing_.insert(stop.rank);
    left_[stop.rank] = commands_ + 1;  // its place is told as well
    shortened_ = std::nullopt;
    pass_on(node, std::move(stop));
  } else if (event == "output") {
    auto output = TRY(decode<reports::OutputEvent>(json));
    if (commands_ > 0 && left_[output.rank]-- <= 1) {
      standing_.erase(output.rank);
    }
    show(node, output.rank, stdout, output.out);
    show(node, output.rank, stderr, output.err);
    if (!output.command.empty()) {
      pass_on(node, std::move(output));
    }
  } else if (event == "log") {
    auto said = TRY(decode<reports::TextEvent>(json));
    show(node, said.rank, stdout, said.text);
    pass_on(node, std::move(said));
  } else if (event == "note") {
    auto said = TRY(decode<reports::TextEvent>(json));
    show(node, said.rank, stderr, said.text);
    pass_on(node, std::move(said));
  } else if (event == "less time") {
    const auto less = TRY(decode<reports::ShortenedEvent>(json));
    shorten(std::chrono::milliseconds(
                static_cast<std::int64_t>(less.left_s * 1000)),
            less.why);
  } else if (event == "error") {
    auto said = TRY(decode<reports::ErrorEvent>(json));
    begin_showing();
    say(stderr, "hangdbg: {}\n",
        err_.red(
            fmt::format("{}: {}", node.name, printable(said.error.message))));
    pass_on(node, std::move(said));
  }
  return {};
}

void RanksOnNodes::show(const RanksOfOne& node,
                        int rank,
                        std::FILE* stream,
                        const std::string& text) const {
  const bool to_stdout = stream == stdout;
  if (text.empty() || (to_stdout && events_ != nullptr)) {
    return;
  }
  begin_showing();
  const std::string prefix =
      (to_stdout ? out_ : err_).bold(fmt::format("[{}:{}]", node.name, rank));
  std::string_view left = text;
  while (left.ends_with('\n')) {
    left.remove_suffix(1);
  }
  for (const std::string_view line : split(left, '\n')) {
    print_now(stream, fmt::format("{} {}\n", prefix, foreign(line)));
  }
}

}  // namespace hangdbg
