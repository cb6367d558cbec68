#include "client/commands/top.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "client/options/options.h"
#include "client/options/processes_or_job.h"
#include "client/terminal/typed.h"
#include "client/views/record/chosen.h"
#include "client/views/top/session.h"
#include "client/views/top/text.h"
#include "protocol/json.h"

namespace hangdbg {
namespace {

struct TopOptions {
  CommonOptions common;
  PidsOption pids;
  JobOptions job;
  double rate = 100;
  double delay_s = 1;
  double max_overhead = 1;  // percent
  bool idle = false;
  bool gil = false;
  bool tasks = false;
  bool children = false;
  bool once = false;
};

Result<int> top(const TopOptions& options) {
  TRY(options.common.configure_log());
  auto chosen = TRY(chosen_targets(TRY(named_pids(options.pids)), options.job,
                                   "top", options.common.deadline()));
  const TopSession session{
      .targets = std::move(chosen.targets),
      .children = options.children,
      .title = std::move(chosen.title),
      .recording = {.sampling =
                        top_sampling(options.idle, options.gil, options.tasks),
                    .rate = options.rate,
                    .most_cost = options.max_overhead / 100},
      .delay = std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::duration<double>(options.delay_s)),
      .colour = options.common.colour};
  if (!options.once && !options.common.json) {
    return run_top(session);
  }
  const TopData data = TRY(sample_once(session));
  if (options.common.json) {
    print_json(encode(top_report(data)));
  } else {
    const Palette out(options.common.colour, stdout);
    constexpr std::size_t kWide = 160;  // where it is no terminal
    print_now(stdout, top_text(data,
                               out.has_columns() ? static_cast<std::size_t>(
                                                       terminal_columns())
                                                 : kWide,
                               out));
  }
  return 0;
}

int run(const TopOptions& options) {
  const auto code = top(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

}  // namespace

void add_top(cli::Command program) {
  const auto options = std::make_shared<TopOptions>();
  const cli::Command command =
      program.add_command("top", "Show live where the time goes");
  add_pids_option(command, options->pids);
  add_job_options(command, options->job);
  command.add_option("-r,--rate", options->rate, "Samples per second")
      .type_name("HZ")
      .in_shown_range(0.1, 10'000);
  command
      .add_option("--delay", options->delay_s,
                  "Refresh the screen after this time; with --once: sample for "
                  "it")
      .type_name("SECONDS")
      .in_shown_range(0.1, 3600);
  command
      .add_option("--max-overhead", options->max_overhead,
                  "Lower the rate where threads would be stopped for more than "
                  "this share of the time")
      .type_name("PERCENT")
      .in_shown_range(0.01, 100);
  command.add_flag("-i,--idle", options->idle,
                   "Count threads that are blocked, too");
  command.add_flag("-g,--gil", options->gil,
                   "Count only the thread that holds the GIL");
  command.add_flag("--tasks", options->tasks,
                   "Show asyncio's tasks in place of the loop that runs them");
  command.add_flag("-s,--subprocesses", options->children,
                   "Include child processes, also those yet to be started");
  command.add_flag("--once", options->once, "Print it once and exit");
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg top 79655\n"
      "  hangdbg top --job auto\n"
      "  hangdbg top 79655 --once\n"
      "  hangdbg top 79655 --tasks\n"
      "  hangdbg top 79655 --json --delay 5\n"
      "\n"
      "Shows functions, lines, threads and processes (the ranks of a job), "
      "with their share of the last seconds; threads with CPU, share of the "
      "GIL, and what they wait for. ? on the screen lists the keys.\n"
      "\n"
      "Runs no code in the process. A running thread is stopped for some tens "
      "of microseconds for each sample, a blocked one is not touched.\n"
      "\n"
      "--json samples once, too.\n"
      "\n"
      "Without a PID: the only job here, or else the only hung process.");
  command.runs([options] { return run(*options); });
}

}  // namespace hangdbg
