#include "client/commands/record.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "client/options/options.h"
#include "client/options/processes_or_job.h"
#include "client/terminal/typed.h"
#include "client/terminal/whole_file.h"
#include "client/views/record/chosen.h"
#include "client/views/record/formats.h"
#include "client/views/record/over_time.h"
#include "client/views/record/session.h"
#include "client/views/record/shown_comparison.h"
#include "client/views/record/text.h"
#include "protocol/json.h"

namespace hangdbg {
namespace {

struct RecordOptions {
  CommonOptions common;
  PidsOption pids;
  JobOptions job;
  double rate = 100;
  std::optional<double> lasts_s;
  bool until_exit = false;
  double max_overhead = 1;  // percent
  SamplingOptions sampling;
  bool by_rank = false;
  std::optional<double> over_s;
  bool waits = false;
  bool children = false;
  std::string file;
  std::string format;
  std::vector<std::string> compared;  // two, or none
};

struct WantedRecording {
  RecordSession session;
  std::string title;
  std::map<int, int> ranks = {};  // by pid
};

int run(const RecordOptions& options, std::span<char*> command);
Result<int> record(const RecordOptions& options, std::span<char*> command);
Status check_over(const RecordOptions& options, bool has_command);
Result<int> compare(const RecordOptions& options, bool has_command);
Result<WantedRecording> wanted(const RecordOptions& options,
                               std::span<char*> command);
Result<const ProfileFormat*> chosen_format(const RecordOptions& options);
Result<int> write(const RecordOptions& options,
                  const ProfileFormat* format,
                  const RecordedProfile& recorded);

}  // namespace

void add_record(cli::Command program, const RunWords& words) {
  const auto options = std::make_shared<RecordOptions>();
  const cli::Command command =
      program.add_command("record", "Record where the time goes");
  add_pids_option(command, options->pids);
  add_job_options(command, options->job);
  command.add_option("-r,--rate", options->rate, "Samples per second")
      .type_name("HZ")
      .in_shown_range(0.1, 10'000);
  command
      .add_option("-d,--duration", options->lasts_s,
                  "Exit after this time (default: when the processes exit, or "
                  "at Ctrl-C)")
      .type_name("SECONDS")
      .in_range(0.001, 1e9)
      .excludes(command.add_flag("--until-exit", options->until_exit,
                                 "Record until the processes have exited"));
  command
      .add_option("--max-overhead", options->max_overhead,
                  "Lower the rate where threads would be stopped for more than "
                  "this share of the time")
      .type_name("PERCENT")
      .in_shown_range(0.01, 100);
  command.add_flag("-i,--idle", options->sampling.idle,
                   "Include threads that are blocked");
  command.add_flag("--wait", options->waits,
                   "Include threads that are blocked, each with its reason: a "
                   "lock and its owner, the GIL, a system call and its file, "
                   "a collective");
  command.add_flag("-n,--native", options->sampling.native,
                   "Include C functions");
  command.add_flag("--tasks", options->sampling.tasks,
                   "Show asyncio's tasks instead of its event loop: coroutines "
                   "that wait for each other as one stack; with --idle also "
                   "the tasks that wait");
  command.add_flag("-g,--gil", options->sampling.gil,
                   "Include only the thread that holds the GIL");
  command.add_flag("-t,--threads", options->sampling.threads,
                   "Group stacks by thread");
  command.add_flag("-s,--subprocesses", options->children,
                   "Include child processes, also those yet to be started");
  command.add_flag("--by-rank", options->by_rank, "Group stacks by rank");
  command
      .add_option("--over", options->over_s,
                  "With --job: show over this time which ranks move and which "
                  "do not, as one tree with each rank's share of the time")
      .type_name("SECONDS")
      .in_range(0.1, 1e6)
      .excludes(command.option("--duration"))
      .excludes(command.option("--until-exit"));
  command.add_flag("-F,--function", options->sampling.whole_functions,
                   "Group stacks by function, not by line");
  command
      .add_option("-o,--output", options->file,
                  "Write the profile to FILE; -: standard output")
      .type_name("FILE");
  command
      .add_option("-f,--format", options->format,
                  "Format of FILE (default: by its suffix, else flamegraph)")
      .one_of({"flamegraph", "speedscope", "collapsed", "pstats", "gecko",
               "pprof", "chrome", "jsonl", "raw", "chrometrace"})
      .type_name("FORMAT");
  command
      .add_option("--diff", options->compared,
                  "Compare two recordings that were written as jsonl or "
                  "collapsed: what became slower or faster")
      .type_name("A B")
      .expected(2);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Usage:\n"
      "  hangdbg record [OPTIONS] PID...\n"
      "  hangdbg record [OPTIONS] --job JOB\n"
      "  hangdbg record [OPTIONS] -- COMMAND ARGS...\n"
      "  hangdbg record --diff A B [-o FILE.html]\n"
      "\n"
      "Examples:\n"
      "  hangdbg record 79655 -d 10                    print the hot "
      "functions\n"
      "  hangdbg record 79655 -d 10 -o profile.html    draw a flame graph\n"
      "  hangdbg record --job auto --by-rank -d 30 -o job.html\n"
      "  hangdbg record --job auto --over 30           show which ranks move\n"
      "  hangdbg record -o profile.speedscope.json -- python train.py\n"
      "  hangdbg record --diff before.jsonl after.jsonl -o diff.html\n"
      "\n"
      "Runs no code in the process. A running thread is stopped for some tens "
      "of microseconds for each sample, a blocked one is not touched. Each "
      "stack is from one moment.\n"
      "\n"
      "Samples are due at fixed times. The first line of the result counts "
      "those due, kept, late and missed, and what the recording cost.\n"
      "\n"
      "Suffixes: .html flamegraph, .speedscope.json speedscope, .txt "
      "collapsed, .pstats pstats, .gecko.json gecko, .pb pprof, .json chrome, "
      ".jsonl jsonl.\n"
      "\n"
      "Without a PID: the only job here, or else the only hung process.");
  command.runs([options, words] { return run(*options, words.program); });
}

namespace {

int run(const RecordOptions& options, std::span<char*> command) {
  const auto code = record(options, command);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

Result<int> record(const RecordOptions& options, std::span<char*> command) {
  TRY(options.common.configure_log());
  if (!options.compared.empty()) {
    return compare(options, !command.empty());
  }
  TRY(check_over(options, !command.empty()));
  const ProfileFormat* const format = TRY(chosen_format(options));
  const WantedRecording wanted = TRY(hangdbg::wanted(options, command));
  RecordingOptions how{.sampling = options.sampling,
                       .rate = options.rate,
                       .most_cost = options.max_overhead / 100,
                       .keeps_order = format != nullptr && format->keeps_order};
  how.sampling.processes =
      options.by_rank ||
      (wanted.session.targets.size() > 1 && !options.job.given()) ||
      options.children;
  how.keeps_processes = !wanted.ranks.empty() && !how.sampling.processes;
  if (options.waits) {
    how.sampling.idle = true;
    how.sampling.waits = std::make_shared<WaitReasons>();
  }
  std::map<int, RankRuns> runs;
  if (options.over_s) {
    how.sampling.idle = how.keeps_order = true;
    for (const auto& [pid, before] : runs_of_ranks(wanted.ranks)) {
      runs[pid].before = before;
    }
  }
  const auto began = std::chrono::system_clock::now();
  std::optional<Error> failed;
  const int code =
      TRY(run_recording(wanted.session, how, [&](Recording& recording) {
        const RecordingState state = recording.state();
        const auto lock = recording.lock();
        const RecordedProfile recorded{
            recording.profile(),
            state,
            options.rate,
            wanted.title,
            began,
            options.waits,
            how.keeps_processes ? wanted.ranks : std::map<int, int>()};
        if (options.over_s) {
          for (const auto& [pid, after] : runs_of_ranks(wanted.ranks)) {
            runs[pid].after = after;
          }
          if (options.common.json) {
            print_json(encode(over_time_report(recorded, runs)));
            return 0;
          }
          print_now(stdout,
                    recording_line(state, options.rate) + "\n" +
                        over_time_text(recorded, runs,
                                       Palette(options.common.colour, stdout)));
          return 0;
        }
        const auto written = write(options, format, recorded);
        if (!written) {
          failed = written.error();
          return exit_code(failed->id);
        }
        return *written;
      }));
  if (failed) {
    return std::unexpected(*std::move(failed));
  }
  return code;
}

Result<WantedRecording> wanted(const RecordOptions& options,
                               std::span<char*> command) {
  WantedRecording wanted;
  RecordSession& session = wanted.session;
  session.children = options.children;
  if (const auto lasts = options.over_s ? options.over_s : options.lasts_s) {
    session.lasts = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(*lasts));
  }
  session.progress = ::isatty(STDERR_FILENO) == 1 && command.empty();
  const auto named = TRY(named_pids(options.pids));
  if (!command.empty()) {
    if (!named.empty() || options.job.given()) {
      return fail(ErrorId::Usage,
                  "a COMMAND cannot be combined with a PID or --job",
                  "hangdbg record --help");
    }
    session.command = command;
    wanted.title =
        shell_quote(std::vector<std::string>(command.begin(), command.end()));
    return wanted;
  }
  auto chosen = TRY(
      chosen_targets(named, options.job, "record", options.common.deadline()));
  if ((options.by_rank || options.over_s) && !chosen.are_ranks) {
    return fail(
        ErrorId::Usage,
        fmt::format("{} needs --job", options.by_rank ? "--by-rank" : "--over"),
        typed_plus("--job auto"));
  }
  session.targets = std::move(chosen.targets);
  wanted.title = std::move(chosen.title);
  wanted.ranks = std::move(chosen.ranks);
  return wanted;
}

// Its tree is of all that main threads do, and is text.
Status check_over(const RecordOptions& options, bool has_command) {
  if (!options.over_s) {
    return {};
  }
  const std::pair<bool, std::string_view> others[] = {
      {has_command, "a COMMAND"},
      {options.by_rank, "--by-rank"},
      {options.waits, "--wait"},
      {options.sampling.gil, "--gil"},
      {options.sampling.threads, "--threads"},
      {options.sampling.tasks, "--tasks"},
      {options.sampling.native, "--native"},
      {options.children, "--subprocesses"},
      {!options.file.empty(), "--output"}};
  for (const auto& [given, name] : others) {
    if (given) {
      return fail(ErrorId::Usage,
                  fmt::format("--over cannot be combined with {}", name),
                  "hangdbg record --job JOB --over SECONDS");
    }
  }
  return {};
}

// What it cannot do is refused, rather than left undone.
Result<int> compare(const RecordOptions& options, bool has_command) {
  const std::string &before = options.compared[0], &after = options.compared[1];
  if (!TRY(named_pids(options.pids)).empty() || options.job.given() ||
      has_command) {
    return fail(ErrorId::Usage,
                "--diff cannot be combined with a PID, --job or a COMMAND",
                "hangdbg record --diff A B");
  }
  if (before == "-" && after == "-") {
    return fail(ErrorId::Usage, "only one of the files can be standard input",
                "hangdbg record --diff A B");
  }
  const ProfileFormat* const format = TRY(chosen_format(options));
  if (format != nullptr && format->name != "flamegraph") {
    return fail(ErrorId::Usage,
                fmt::format("--diff writes a flamegraph, not {}", format->name),
                typed_with("--output", "diff.html"));
  }
  TRY(show_comparison(before, after, format != nullptr ? options.file : "",
                      options.common));
  return 0;
}

// Null: nothing is written. Errors: Usage.
Result<const ProfileFormat*> chosen_format(const RecordOptions& options) {
  if (options.file.empty()) {
    if (!options.format.empty()) {
      return fail(ErrorId::Usage, "--format needs --output",
                  typed_plus("-o FILE"));
    }
    return nullptr;
  }
  if (options.file == "-" && options.common.json) {
    return fail(ErrorId::Usage,
                "--json and --output - cannot share standard output",
                typed_with("--output", "profile.html"));
  }
  const ProfileFormat* const by_name = find_format(options.format);
  const ProfileFormat* const by_file = format_of_file(options.file);
  return by_name != nullptr   ? by_name
         : by_file != nullptr ? by_file
                              : find_format("flamegraph");
}

// What became of the samples, then what was found.
Result<int> write(const RecordOptions& options,
                  const ProfileFormat* format,
                  const RecordedProfile& recorded) {
  const std::string line = recording_line(recorded.state, recorded.rate) + "\n";
  if (format != nullptr) {
    TRY(write_whole_file(options.file, format->write(recorded)));
  }
  if (options.common.json) {
    print_json(encode(recording_report(recorded, options.file)));
  } else if (format == nullptr) {
    print_now(stdout,
              line + function_lines(recorded,
                                    Palette(options.common.colour, stdout)));
  } else {
    say(stderr, "{}", line);
    if (options.file != "-") {
      say(stderr, "wrote {} ({})\n", printable(options.file), format->name);
    }
  }
  return 0;
}

}  // namespace
}  // namespace hangdbg
