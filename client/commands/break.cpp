#include "client/commands/break.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "client/options/job_options.h"
#include "client/options/options.h"
#include "client/prompt/attached_ranks.h"
#include "client/prompt/break_events.h"
#include "client/prompt/breaks.h"
#include "client/prompt/stops.h"
#include "client/prompt/together.h"
#include "client/ranks/rank_prefix.h"
#include "client/terminal/interrupt.h"
#include "client/terminal/render.h"
#include "client/terminal/typed.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

constexpr auto kLookAgain = milliseconds(200);
// Who comes so soon needs no word.
constexpr auto kPatience = milliseconds(500);

struct BreakOptions {
  CommonOptions common;
  JobOptions job;
  std::string place;
  std::string condition;
  std::string log;
  std::string hold_until;
  double hold_for_s = kHoldFor.count();
  double wait_s = 600;
  std::vector<std::string> commands;

  milliseconds hold_for() const {
    return milliseconds(static_cast<std::int64_t>(hold_for_s * 1000));
  }
};

int run(const BreakOptions& options);
Result<int> break_in(const BreakOptions& options,
                     std::optional<BreakEvents>& events);
Result<PromptBreakpoint> breakpoint_of(const BreakOptions& options);
int show_log(AttachedRanks& attached, Deadline deadline);
int prompt_at_stops(AttachedRanks& attached,
                    const ChosenRanks& chosen,
                    const RankSet& together,
                    Deadline deadline);
Result<int> run_at_stops(AttachedRanks& attached,
                         const ChosenRanks& chosen,
                         const RankSet& together,
                         const std::vector<std::string>& commands,
                         Deadline deadline);
Result<std::vector<AttachedRank*>> await_ranks(AttachedRanks& attached,
                                               const ChosenRanks& chosen,
                                               const RankSet& together,
                                               Deadline deadline);
int rank_whose_time_was_up(AttachedRanks& attached);
void say_notes_of(AttachedRanks& attached);

}  // namespace

void add_break(cli::Command program) {
  const auto options = std::make_shared<BreakOptions>();
  const cli::Command command =
      program.add_command("break", "Set breakpoints on ranks of a job");
  command
      .add_option("place", options->place,
                  "FILE:LINE, or the name of a function")
      .required()
      .type_name("PLACE");
  add_job_options(command, options->job);
  command
      .add_option("--if", options->condition,
                  "Stop only if EXPR is true in the frame")
      .type_name("EXPR");
  command
      .add_option("--log", options->log,
                  "Print TEXT instead of stopping; {EXPR} becomes its value")
      .type_name("TEXT");
  command
      .add_option(
          "--hold-until", options->hold_until,
          "Suspend each rank at the breakpoint until all listed ranks reach it")
      .type_name("SET");
  command
      .add_option("--for", options->hold_for_s,
                  "Suspend threads for at most this long, then resume all")
      .type_name("SECONDS")
      .in_shown_range(0.1, 86400.0);
  command
      .add_option("--wait", options->wait_s,
                  "Wait for this long for a rank to reach the breakpoint; "
                  "Ctrl-C stops waiting")
      .type_name("SECONDS")
      .in_shown_range(0.1, 1e6);
  command
      .add_option("-c", options->commands,
                  "At a stop, run this prompt command and resume (repeatable)")
      .type_name("CMD")
      .one_at_a_time()
      .take_all();
  add_json_option(command, options->common);
  add_common_options(command, options->common, "--own-log");
  command.footer(
      "Examples:\n"
      "  hangdbg break train.py:120 --ranks 0,3\n"
      "  hangdbg break train.py:120 --ranks 0,3 --if 'step > 100' --for 120\n"
      "  hangdbg break train.py:120 --log 'step {step}: {loss}'\n"
      "  hangdbg break train.py:120 --ranks 1,3 --hold-until 1,3 -c 'p step' "
      "-c n\n"
      "  hangdbg break train.py:120 --log 'step {step}: {loss}' --json\n"
      "\n"
      "The job survives the stop: the timeouts of its process groups are "
      "raised on all ranks before a breakpoint is set, and restored when "
      "hangdbg exits or is killed.\n"
      "\n"
      "With -c, exits when each rank has stopped once. Otherwise a prompt "
      "opens: `rank N` switches to a rank, `ranks SET COMMAND` runs a command "
      "in several.");
  command.runs([options] { return run(*options); });
}

namespace {

int run(const BreakOptions& options) {
  std::optional<BreakEvents> events;  // from when there is a job
  const auto result = break_in(options, events);
  if (!result && events) {
    events->error(result.error());
  }
  const int code =
      result ? *result
             : report(result.error(), Palette(options.common.colour, stderr));
  if (events) {
    events->end(code);
  }
  return code;
}

Result<int> break_in(const BreakOptions& options,
                     std::optional<BreakEvents>& events) {
  TRY(options.common.configure_log());
  if (options.common.json && options.commands.empty() && options.log.empty()) {
    return fail(ErrorId::Usage, "--json needs -c or --log: it opens no prompt",
                typed_with("-c", "where"));
  }
  if (!options.log.empty() &&
      (!options.commands.empty() || !options.hold_until.empty())) {
    return fail(ErrorId::Usage,
                "--log cannot be combined with -c or --hold-until",
                "hangdbg break --help");
  }
  if (std::isnan(options.hold_for_s) || std::isnan(options.wait_s)) {
    return fail(ErrorId::Usage, "not a number of seconds: nan",
                "hangdbg break --help");
  }
  const PromptBreakpoint wanted = TRY(breakpoint_of(options));
  const RankChoice until = TRY(RankChoice::parse(
      options.hold_until.empty() ? "all" : options.hold_until));
  const ChosenRanks chosen =
      TRY(choose_ranks(options.job, options.common.deadline()));
  RankSet together;
  for (const JobRank& rank : chosen.ranks) {
    if (!options.hold_until.empty() && until.includes(rank.rank)) {
      together.add(rank.rank);
    }
  }
  if (const RankSet* const named = until.named();
      named != nullptr && *named != together) {
    return fail(
        ErrorId::Usage,
        fmt::format("--hold-until {} lists ranks without the breakpoint",
                    options.hold_until),
        typed_with("--ranks", options.hold_until));
  }
  if (!chosen.absent.empty()) {
    return fail(ErrorId::Usage,
                fmt::format("rank {} of {} is not here", chosen.absent.text(8),
                            job_text(chosen.job)),
                "hangdbg ps --job " + shell_quote(chosen.job.id));
  }
  say(stderr, "{}\n", job_text(chosen.job));
  for (const std::string& finding : findings(chosen.job)) {
    say(stderr, "{}\n", finding);
  }
  const Deadline deadline = Deadline::in(std::chrono::nanoseconds(
      static_cast<std::int64_t>(options.wait_s * 1e9)));
  CommonOptions common = options.common;
  if (common.json) {
    common.colour = ColourChoice::Never;
    events.emplace().job(chosen.job);
  }
  AttachedRanks attached(common);
  attached.tell(events ? &*events : nullptr);
  if (wanted.log.empty()) {
    TRY(make_safe_to_hold(attached, chosen.job, options.hold_for(), deadline));
  } else {
    attached.attach_all(chosen.ranks);
  }
  TRY(set_on_ranks(attached, chosen.ranks, wanted, !together.empty()));
  const Interruptible interruptible(*attached.all().front()->session);
  return !wanted.log.empty() ? show_log(attached, deadline)
         : options.commands.empty()
             ? prompt_at_stops(attached, chosen, together, deadline)
             : run_at_stops(attached, chosen, together, options.commands,
                            deadline);
}

Result<PromptBreakpoint> breakpoint_of(const BreakOptions& options) {
  PromptBreakpoint wanted;
  wanted.condition = options.condition;
  wanted.log = options.log;
  wanted.temporary = !options.commands.empty();  // once in each rank
  const auto colon = options.place.rfind(':');
  if (colon == std::string::npos) {
    wanted.function = options.place;
    return wanted;
  }
  const auto line = parse_number<std::int64_t>(
      std::string_view(options.place).substr(colon + 1));
  if (!line || *line < 1 || colon == 0) {
    return fail(ErrorId::Usage,
                fmt::format("neither FILE:LINE nor a function: {}",
                            printable(options.place)),
                "hangdbg break train.py:120 --ranks 0,3");
  }
  wanted.path = options.place.substr(0, colon);
  wanted.line = *line;
  return wanted;
}

// The agents speak as their threads come by.
int show_log(AttachedRanks& attached, Deadline deadline) {
  const auto lives = [](const AttachedRank* one) {
    return !one->session->over();
  };
  while (!deadline.expired() && std::ranges::any_of(attached.all(), lives)) {
    attached.await(deadline.capped(kLookAgain));
    attached.look();
    flush_output(stdout);
    if (Interruptible::take()) {
      return exit_code(ErrorId::Interrupted);
    }
  }
  return 0;
}

int prompt_at_stops(AttachedRanks& attached,
                    const ChosenRanks& chosen,
                    const RankSet& together,
                    Deadline deadline) {
  const auto came = await_ranks(attached, chosen, together, deadline);
  if (!came && (came.error().id != ErrorId::Interrupted ||
                ::isatty(STDIN_FILENO) != 1)) {
    return report(came.error(), attached.err());
  }
  AttachedRank* const first =
      came ? came->front() : attached.find_rank(chosen.ranks.front().rank);
  if (came) {
    // At once: it stands.
    const Status shown = await_stop(*first->state, std::nullopt);
    if (!shown) {
      return report(shown.error(), attached.err());
    }
    flush_output(stdout);
  } else {
    say(stderr, "{}\n",
        attached.err().dim(
            "no rank has reached the breakpoint; c waits again"));
  }
  return attached.prompt(first->pid, std::nullopt);
}

Result<int> run_at_stops(AttachedRanks& attached,
                         const ChosenRanks& chosen,
                         const RankSet& together,
                         const std::vector<std::string>& commands,
                         Deadline deadline) {
  BreakEvents* const events = attached.events();
  int code = 0;
  std::set<int> done;
  while (done.size() < chosen.ranks.size()) {
    const auto came = TRY(await_ranks(attached, chosen, together, deadline));
    show_stops(
        came, events == nullptr
                  ? ShowPrinted(show_printed)
                  : [&](const auto& rank, const auto&) { events->stop(rank); });
    for (const std::string& command : commands) {
      const int last = run_together(
          came, command,
          events == nullptr ? ShowPrinted(show_printed)
                            : [&](const auto& rank, const auto& printed) {
                                events->output(rank, command, printed);
                              });
      code = last != 0 ? last : code;
    }
    for (AttachedRank* const one : came) {
      done.insert(*one->rank);
      for (const std::int64_t tid : std::set(one->state->held)) {
        one->state->held.erase(tid);
        forget_stop(*one->state, tid);
        [[maybe_unused]] const Status gone =
            release_thread(*one->session, tid, attached.options().deadline());
      }
    }
    say_notes_of(attached);
  }
  return code;
}

// Those in which a thread has come to stand: one of them, or all of `together`.
Result<std::vector<AttachedRank*>> await_ranks(AttachedRanks& attached,
                                               const ChosenRanks& chosen,
                                               const RankSet& together,
                                               Deadline deadline) {
  Deadline patience = deadline.capped(kPatience);
  for (RankSet said;;) {
    attached.look();
    std::vector<AttachedRank*> came;
    RankSet ranks;
    bool alive = false;
    for (const JobRank& rank : chosen.ranks) {
      AttachedRank* const one = attached.find_rank(rank.rank);
      alive |= !one->session->over();
      if (!one->state->unseen.empty()) {
        one->state->notes.erase(one->state->unseen.front().tid);
        came.push_back(one);
        ranks.add(rank.rank);
      }
    }
    const auto is_there = [&](int rank) { return ranks.contains(rank); };
    if (!came.empty() && std::ranges::all_of(together.numbers(), is_there)) {
      say_notes_of(attached);
      return came;
    }
    if (came.empty()) {
      patience = deadline.capped(kPatience);
    } else if (patience.expired() && ranks != said) {
      say(stderr, "{}\n",
          attached.err().dim(fmt::format(
              "rank {} has reached the breakpoint; waiting for all of {}",
              ranks.text(8), together.text(8))));
      if (BreakEvents* const events = attached.events()) {
        events->waits(ranks, together);
      }
      said = ranks;
    }
    say_notes_of(attached);
    if (const int late = rank_whose_time_was_up(attached); late >= 0) {
      return fail(
          ErrorId::TimedOut,
          fmt::format(
              "rank {} resumed before all ranks had reached the breakpoint",
              late),
          typed_with("--for", "600"));
    }
    if (!alive) {
      return fail(ErrorId::TargetDied, "all ranks have ended", "hangdbg ps");
    }
    if (deadline.expired()) {
      return fail(
          ErrorId::TimedOut,
          together.empty() || ranks.empty()
              ? "no rank has reached the breakpoint"
              : fmt::format(
                    "rank {} has reached the breakpoint, but not all of {}",
                    ranks.text(8), together.text(8)),
          "hangdbg dump --job " + shell_quote(chosen.job.id) + " --merge");
    }
    attached.await(deadline.capped(kLookAgain));
    if (Interruptible::take()) {
      return fail(ErrorId::Interrupted, "interrupted");
    }
  }
}

// -1: of none.
int rank_whose_time_was_up(AttachedRanks& attached) {
  for (const AttachedRank* const one : attached.all()) {
    if (one->state && one->state->time_was_up) {
      return one->rank.value_or(0);
    }
  }
  return -1;
}

void say_notes_of(AttachedRanks& attached) {
  for (AttachedRank* const one : attached.all()) {
    if (one->state) {
      for (const auto& [tid, note] : std::exchange(one->state->notes, {})) {
        say(stderr, "{} {}\n",
            rank_prefix(one->rank.value_or(0), attached.err()),
            attached.err().dim(note));
        if (BreakEvents* const events = attached.events()) {
          events->note(one->rank.value_or(0), note);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hangdbg
