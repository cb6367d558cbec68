#include "client/commands/attach.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "base/parallel_map.h"
#include "base/text.h"
#include "client/nodes/attach_via.h"
#include "client/options/default_target.h"
#include "client/options/job_options.h"
#include "client/options/options.h"
#include "client/options/prompt_options.h"
#include "client/options/via_option.h"
#include "client/prompt/attached_ranks.h"
#include "client/ranks/each_rank.h"
#include "client/terminal/typed.h"
#include "inspector/jobs/stack_tree.h"

namespace hangdbg {
namespace {

struct AttachOptions {
  CommonOptions common;
  ViaOption via;
  TargetOption target;
  JobOptions job;
  PromptOptions prompt;
};

int run(const AttachOptions& options);
Result<int> attach(const AttachOptions& options);
Result<int> attach_each(const AttachOptions& options,
                        const ChosenRanks& chosen);
Result<int> prompt_odd_rank(const AttachOptions& options,
                            const ChosenRanks& chosen);
std::optional<int> odd_rank(const ChosenRanks& chosen, Deadline deadline);
Result<int> prompt(const AttachOptions& options,
                   int pid,
                   std::optional<int> rank);

}  // namespace

void add_attach(cli::Command program) {
  const auto options = std::make_shared<AttachOptions>();
  const cli::Command command = program.add_command(
      "attach", "Open a prompt in the hung frame, with pdb's commands");
  add_pid_option(command, options->target);
  add_job_options(command, options->job);
  add_prompt_options(command, options->prompt);
  add_via_option(command, options->via);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg attach 79655   open a prompt; `help` lists its commands\n"
      "  hangdbg attach 79655 -c w -c 'p self.lock_file_path'\n"
      "  hangdbg attach --job auto --ranks 3\n"
      "  hangdbg attach --ranks 12 --via ssh:node[01-16]\n"
      "\n"
      "Stops nothing: an expression runs beside the program, on a thread of "
      "its own. Of a job, the prompt opens in the outlier rank; with -c, the "
      "commands run in each rank.\n"
      "\n"
      "Without a PID: the only job here, or else the only hung process.");
  command.runs([options] { return run(*options); });
}

namespace {

int run(const AttachOptions& options) {
  const auto code = attach(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

Result<int> attach(const AttachOptions& options) {
  TRY(options.common.configure_log());
  const std::string& word = options.target.flag.empty()
                                ? options.target.positional
                                : options.target.flag;
  if (options.job.given() && !word.empty()) {
    return fail(ErrorId::Usage, "a PID and --job cannot be combined",
                typed_but(word, ""));
  }
  if (options.via.given()) {
    return attach_on_node({.via = options.via,
                           .common = options.common,
                           .job = options.job,
                           .pid = word});
  }
  const Deadline deadline = options.common.deadline();
  const auto chosen =
      options.job.given()
          ? std::optional(TRY(choose_ranks(options.job, deadline)))
      : word.empty() ? only_job(deadline)
                     : std::nullopt;
  if (chosen) {
    return chosen->ranks.size() > 1 && !options.prompt.commands.empty()
               ? attach_each(options, *chosen)
               : prompt_odd_rank(options, *chosen);
  }
  const int pid = word.empty() ? TRY(default_target(options.common.deadline()))
                               : TRY(parse_pid(word));
  return prompt(options, pid, std::nullopt);
}

Result<int> attach_each(const AttachOptions& options,
                        const ChosenRanks& chosen) {
  const auto outputs = TRY(run_for_each(
      chosen.ranks,
      [&](const JobRank& rank) {
        const PlaceOptions& place = options.prompt.place;
        std::vector<std::string> words = {
            "attach",    fmt::format("{}", rank.pid),
            "--timeout", fmt::format("{}", options.common.timeout_s),
            "--frame",   place.frame.text()};
        if (!place.thread.empty()) {
          words.push_back("--thread=" + place.thread);
        }
        for (const std::string& command : options.prompt.commands) {
          words.insert(words.end(), {"-c", command});
        }
        return words;
      },
      // Each command has a time of its own.
      Deadline::in(options.common.deadline().left() *
                   options.prompt.commands.size())));
  for (const RankOutput& output : outputs) {
    show_output(output, options.common.colour);
  }
  return code_of(outputs, !chosen.absent.empty());
}

Result<int> prompt_odd_rank(const AttachOptions& options,
                            const ChosenRanks& chosen) {
  const auto odd = odd_rank(chosen, options.common.deadline());
  const int rank = odd.value_or(chosen.ranks.front().rank);
  say(stderr, "rank {} of {}{}\n", rank, job_text(chosen.job),
      odd ? ", the outlier" : "");
  const auto found = std::ranges::find(chosen.ranks, rank, &JobRank::rank);
  return prompt(options, found->pid, rank);
}

// Nothing if there is but one to choose, or none is odd.
std::optional<int> odd_rank(const ChosenRanks& chosen, Deadline deadline) {
  std::vector<int> pids;
  std::ranges::transform(chosen.ranks, std::back_inserter(pids), &JobRank::pid);
  std::vector<ProcessDump> dumps;
  if (pids.size() > 1) {
    parallel_map<ProcessDump>(
        pids, deadline,
        [](int pid) -> Result<ProcessDump> {
          const PythonProcess process = TRY(open_python(pid));
          return dump_process(LiveTarget(process),
                              {.may_stop = false, .names = false});
        },
        [&](int pid, std::optional<Result<ProcessDump>> dump) {
          if (dump && *dump) {
            (*dump)->rank = {chosen.job.find(pid)->rank};
            dumps.push_back(**std::move(dump));
          }
        });
  }
  const StackTree tree =
      merge_dumps(dumps, [](const ProcessDump& one) { return one.rank->rank; });
  return tree.odd.empty()
             ? std::nullopt
             : std::optional(tree.odd.front().here.members.ranges()[0].first);
}

Result<int> prompt(const AttachOptions& options,
                   int pid,
                   std::optional<int> rank) {
  AttachedRanks attached(options.common);
  TRY(attached.open(pid, rank, options.prompt.place));
  const auto& commands = options.prompt.commands;
  return attached.prompt(pid, commands.empty()
                                  ? std::nullopt
                                  : std::optional(std::deque<std::string>(
                                        commands.begin(), commands.end())));
}

}  // namespace
}  // namespace hangdbg
