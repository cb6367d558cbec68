#include "client/commands/break.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "client/breaks/by_orders.h"
#include "client/breaks/on_nodes.h"
#include "client/options/job_options.h"
#include "client/options/options.h"
#include "client/options/via_option.h"
#include "client/prompt/at_stops.h"
#include "client/prompt/attached_ranks.h"
#include "client/prompt/break_events.h"
#include "client/prompt/breaks.h"
#include "client/prompt/stops.h"
#include "client/terminal/interrupt.h"
#include "client/terminal/render.h"
#include "client/terminal/typed.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

struct BreakOptions {
  CommonOptions common;
  ViaOption via;
  bool by_orders = false;  // of another machine's hangdbg (--via)
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
  Deadline to_wait() const {
    return Deadline::in(
        std::chrono::nanoseconds(static_cast<std::int64_t>(wait_s * 1e9)));
  }
};

int run(const BreakOptions& options);
Status check(const BreakOptions& options);
Result<int> break_in(const BreakOptions& options,
                     std::optional<BreakEvents>& events);
Result<PromptBreakpoint> breakpoint_of(const BreakOptions& options);
int prompt_at_stops(const BreakAtStops& at);

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
  add_via_option(command, options->via);
  command.add_flag("--by-orders", options->by_orders).hidden();
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
      "  hangdbg break train.py:120 -c where --via ssh:node[01-16]\n"
      "  hangdbg break train.py:120 --ranks 5 --via srun:4242\n"
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

Status check(const BreakOptions& options) {
  if (options.common.json && options.commands.empty() && options.log.empty() &&
      !options.by_orders) {
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
  return {};
}

Result<int> break_in(const BreakOptions& options,
                     std::optional<BreakEvents>& events) {
  TRY(options.common.configure_log());
  TRY(check(options));
  const PromptBreakpoint wanted = TRY(breakpoint_of(options));
  if (options.by_orders) {
    return break_by_orders({.common = options.common,
                            .job = options.job,
                            .wanted = wanted,
                            .commands = options.commands,
                            .hold_until = options.hold_until,
                            .deadline = options.to_wait()},
                           events);
  }
  if (options.via.given()) {
    return break_on_nodes(
        {.via = options.via,
         .common = options.common,
         .job = options.job,
         .commands = options.commands,
         .prompts = options.commands.empty() && options.log.empty(),
         .hold_until = options.hold_until,
         .hold_for = options.hold_for(),
         .deadline = options.to_wait()},
        events);
  }
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
  const Deadline deadline = options.to_wait();
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
  const BreakAtStops at{attached, chosen, together, deadline};
  return !wanted.log.empty()        ? show_log(at)
         : options.commands.empty() ? prompt_at_stops(at)
                                    : run_at_stops(at, options.commands);
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

int prompt_at_stops(const BreakAtStops& at) {
  AttachedRanks& attached = at.attached;
  const auto came = await_ranks(at);
  if (!came && (came.error().id != ErrorId::Interrupted ||
                ::isatty(STDIN_FILENO) != 1)) {
    return report(came.error(), attached.err());
  }
  AttachedRank* const first =
      came ? came->front() : attached.find_rank(at.chosen.ranks.front().rank);
  if (came) {
    // At once: it is suspended.
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

}  // namespace
}  // namespace hangdbg
