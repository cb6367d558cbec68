#include "client/commands/dump.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/host_name.h"
#include "base/parallel_map.h"
#include "base/run_with_deadline.h"
#include "base/text.h"
#include "client/nodes/each_node.h"
#include "client/nodes/merged_tree.h"
#include "client/options/options.h"
#include "client/options/processes_or_job.h"
#include "client/options/via_option.h"
#include "client/terminal/typed.h"
#include "client/views/dump/json.h"
#include "client/views/dump/node_tree.h"
#include "client/views/dump/options.h"
#include "client/views/dump/picture_file.h"
#include "client/views/dump/text.h"
#include "client/views/dump/tree.h"
#include "injector/checks/preflight.h"
#include "inspector/jobs/jobs.h"
#include "inspector/snapshot/process_dump.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

struct DumpCommandOptions {
  CommonOptions common;
  ViaOption via;
  PidsOption pids;
  bool all = false;
  bool children = false;
  bool nonblocking = false;
  bool merge = false;
  bool to_merge = false;  // another machine does (--via)
  JobOptions job;
  ShownOptions shown;
  PictureOptions picture;
};

using Dump = Result<ProcessDump>;

struct WantedDump {
  std::vector<int> pids;
  std::vector<int> named;            // the others were searched for
  std::optional<ChosenRanks> ranks;  // where a job's are asked
};

// What has been shown, and what is still to be printed as JSON.
struct Output {
  const DumpCommandOptions& options;
  DumpStyle style;
  Palette out{options.common.colour, stdout};
  Palette err{options.common.colour, stderr};
  bool any = false;
  std::optional<Error> failed = {};
  std::vector<Json> processes = {};
  std::vector<ProcessDump> to_merge = {};
  std::vector<MissingMember> missing = {};
  std::optional<ChosenRanks> ranks = {};
  std::optional<Jobs> jobs = {};  // where all processes were looked at

  void place(ProcessDump& dump) const;
  void show(const ProcessDump& dump);
  void show(int pid, const Error& error);
  void show_absent();
  std::optional<int> rank_of(int pid) const;
  int finish();  // the exit code
  void show_merged();
  void print_tree() const;
};

int run(const DumpCommandOptions& options);
Result<int> dump(const DumpCommandOptions& options);
std::string with_prefix(const std::optional<RankOfProcess>& rank,
                        const std::string& text,
                        const Palette& out);
Result<WantedDump> wanted(const DumpCommandOptions& options);
WantedDump wanted_ranks(const DumpCommandOptions& options, ChosenRanks chosen);
Dump dump_one(int pid, const DumpOptions& options, bool find_rank);
bool is_python(ErrorId why_not);

}  // namespace

void add_dump(cli::Command program) {
  const auto options = std::make_shared<DumpCommandOptions>();
  const cli::Command command =
      program.add_command("dump", "Show the stacks of all threads");
  add_pids_option(command, options->pids);
  command.add_flag("--all", options->all,
                   "Show every Python process that this user may read");
  command.add_flag("-s,--subprocesses,--children", options->children,
                   "Include child processes");
  add_job_options(command, options->job);
  add_shown_options(command, options->shown);
  command.add_flag("--merge", options->merge,
                   "Merge the stacks into one tree; outliers first");
  command.add_flag("--to-merge", options->to_merge).hidden();
  add_picture_options(command, options->picture);
  command.add_flag("--nonblocking", options->nonblocking,
                   "Stop nothing; mark stacks that may be inconsistent");
  add_via_option(command, options->via);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg dump 79655\n"
      "  hangdbg dump 79655 --children --source=3   with source lines\n"
      "  hangdbg dump 79655 --locals=1              with local variables\n"
      "  hangdbg dump --job auto --merge            one tree of all ranks\n"
      "  hangdbg dump --job auto --merge --html hang.html\n"
      "  hangdbg dump --job 79601 --ranks 0,3-5\n"
      "  hangdbg dump --all --json\n"
      "\n"
      "Runs no code in the process. A blocked thread is not touched; a running "
      "one is stopped for some tens of microseconds.\n"
      "\n"
      "Without a PID: the only job here, or else the only hung process.");
  command.runs([options] { return run(*options); });
}

namespace {

int run(const DumpCommandOptions& options) {
  const auto code = dump(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

Result<int> dump(const DumpCommandOptions& options) {
  TRY(options.common.configure_log());
  if (options.via.given() && options.merge && options.shown.locals.empty()) {
    return merge_from_nodes(options.via,
                            {.common = options.common,
                             .picture = options.picture,
                             .full_filenames = options.shown.full_filenames});
  }
  if (options.via.given()) {
    return show_each_node(options.via, options.common);
  }
  const auto [pids, named, ranks] = TRY(wanted(options));
  const ShownOptions& shown = options.shown;
  if (options.merge && (shown.tasks || !shown.source.empty())) {
    return fail(ErrorId::Usage,
                "--merge cannot be combined with --source or --tasks",
                "hangdbg dump --help");
  }
  if (options.picture.given() && !options.merge) {
    return fail(ErrorId::Usage, "--svg and --html need --merge",
                typed_plus("--merge"));
  }
  TRY(options.picture.check(options.common.json));
  Output output{options, TRY(options.shown.style())};
  output.ranks = ranks;
  if (ranks) {
    output.jobs = Jobs{{ranks->job}};
  } else if (options.all) {
    output.jobs = TRY(find_jobs(options.common.deadline()));
  }
  DumpOptions how = TRY(options.shown.dump_options());
  how.may_stop = !options.nonblocking;
  how.names = !options.merge;  // a merged stack has none
  const auto show = [&](int pid, std::optional<Dump> result) {
    if (!result) {
      output.show(pid, not_read_in_time(pid));
    } else if (*result) {
      output.place(**result);
      output.show(**result);
    } else if (std::ranges::find(named, pid) != named.end() ||
               is_python(result->error().id)) {
      output.show(pid, result->error());
    }
  };
  output.show_absent();
  const auto work = [how, find_rank = !output.jobs](int pid) {
    return dump_one(pid, how, find_rank);
  };
  if (pids.size() == 1) {
    return run_with_deadline<Dump>(
        options.common.deadline(), [&] { return work(pids[0]); },
        [&](std::optional<Dump> result) {
          show(pids[0], std::move(result));
          return output.finish();
        });
  }
  parallel_map<ProcessDump>(pids, options.common.deadline(), work, show);
  return output.finish();
}

// As its job was found among all processes, where one was: what a process says
// of itself its children say as well, and its launcher may.
void Output::place(ProcessDump& dump) const {
  if (!jobs) {
    return;
  }
  const auto found = jobs->find(dump.pid);
  if (found && !found->left_over) {
    dump.rank = {found->rank->rank, found->job->world_size, found->job->id,
                 found->rank->pid != dump.pid};
  }
}

void Output::show(const ProcessDump& dump) {
  if (options.merge && !options.to_merge) {
    to_merge.push_back(dump);
  } else if (options.common.json) {
    processes.push_back(dump_json(dump));
  } else {
    const std::string text = dump_text(dump, style, out);
    print_now(stdout, (any ? "\n" : "") +
                          (ranks ? with_prefix(dump.rank, text, out) : text));
  }
  any = true;
}

// First of all: absent ranks cannot be read.
void Output::show_absent() {
  if (!ranks) {
    return;
  }
  for (const int rank : ranks->absent.numbers()) {
    const Error error{.id = ErrorId::NoSuchProcess,
                      .message = fmt::format("rank {} of {} is not here", rank,
                                             job_text(ranks->job)),
                      .hint = "hangdbg ps --job " + shell_quote(ranks->job.id)};
    failed = error;
    missing.push_back({rank, std::nullopt, error});
    if (!options.common.json) {
      report(error, err);
    }
  }
  for (const int rank : options.common.json ? ranks->job.missing.numbers()
                                            : std::vector<int>()) {
    if (!ranks->absent.contains(rank)) {
      missing.push_back(
          {rank, std::nullopt,
           Error{.id = ErrorId::NoSuchProcess, .message = "has ended"}});
    }
  }
  if (!options.common.json && !options.picture.to_stdout()) {
    for (const std::string& finding : findings(ranks->job)) {
      print_now(stdout, out.red(finding) + "\n");
    }
  }
}

void Output::show(int pid, const Error& error) {
  failed = error;
  missing.push_back({rank_of(pid), pid, error});
  if (options.common.json) {
    processes.push_back(dump_json(pid, error));
  } else {
    report(error, err);
  }
}

// That of the only process, or 1 if some could not be read.
int Output::finish() {
  if (!any && !failed) {
    return report({.id = ErrorId::NotPython,
                   .message = "no Python process found",
                   .hint = "hangdbg ps"},
                  err);
  }
  if (options.to_merge) {
    print_tree();
  } else if (options.merge) {
    show_merged();
  } else if (options.common.json) {
    print_json(dumps_json(
        processes,
        ranks ? std::optional(ranks->job.missing.numbers()) : std::nullopt));
  }
  if (failed) {
    return any || missing.size() > 1 ? 1 : exit_code(failed->id);
  }
  return 0;
}

// Each once, of versions that are not known.
std::vector<std::string> notes_of(const std::vector<ProcessDump>& dumps) {
  std::vector<std::string> notes;
  for (const ProcessDump& dump : dumps) {
    if (!dump.note.empty() &&
        std::ranges::find(notes, dump.note) == notes.end()) {
      notes.push_back(dump.note);
    }
  }
  return notes;
}

void Output::show_merged() {
  const TreeLabels labels{ranks ? TreeLabels::Members::Ranks
                                : TreeLabels::Members::Processes};
  const MemberOf member =
      ranks ? [](const ProcessDump& one) { return one.rank->rank; }
            : [](const ProcessDump& one) { return one.pid; };
  const StackTree tree = merge_dumps(to_merge, member);
  const auto differences = options.shown.locals.empty()
                               ? std::nullopt
                               : differing_locals(to_merge, tree, member);
  if (options.common.json) {
    print_json(tree_json(tree, labels, missing, differences));
  } else if (!options.picture.to_stdout()) {
    print_now(stdout, tree_text(tree, labels, style, out, differences));
    for (const std::string& note : notes_of(to_merge)) {
      say(stderr, "{}\n", note);
    }
  }
  if (!options.picture.given()) {
    return;
  }
  Picture picture{
      .tree = tree,
      .labels = labels,
      .title =
          ranks ? job_text(ranks->job)
                : fmt::format("{} {}", to_merge.size(),
                              to_merge.size() == 1 ? "process" : "processes"),
      .findings = ranks ? findings(ranks->job) : std::vector<std::string>(),
      .full_filenames = style.full_filenames};
  std::ranges::move(notes_of(to_merge), std::back_inserter(picture.findings));
  for (const MissingMember& one : missing) {
    // The others are among the job's findings.
    if (one.pid || ranks->absent.contains(*one.rank)) {
      picture.findings.push_back(one.why.text());
    }
  }
  if (const auto drawn = draw(options.picture, picture); !drawn) {
    report(drawn.error(), err);
    failed = drawn.error();
  }
}

void Output::print_tree() const {
  std::vector<reports::DumpedProcess> dumped;
  for (const Json& process : processes) {
    if (auto one = decode<reports::DumpedProcess>(process)) {
      dumped.push_back(*std::move(one));
    }
  }
  print_json(encode(tree_of(dumped)));
}

std::optional<int> Output::rank_of(int pid) const {
  const JobRank* const rank = ranks ? ranks->job.find(pid) : nullptr;
  return rank != nullptr ? std::optional(rank->rank) : std::nullopt;
}

// As torchrun's --tee has it: "[host:3] ".
std::string with_prefix(const std::optional<RankOfProcess>& rank,
                        const std::string& text,
                        const Palette& out) {
  const std::string prefix =
      out.dim(fmt::format("[{}:{}] ", host_name(), rank ? rank->rank : -1));
  std::string prefixed;
  for (const std::string_view line :
       split(std::string_view(text).substr(0, text.size() - 1), '\n')) {
    prefixed += fmt::format("{}{}\n", prefix, line);
  }
  return prefixed;
}

Result<WantedDump> wanted(const DumpCommandOptions& options) {
  WantedDump wanted;
  const auto add = [&wanted](int pid) {
    if (std::ranges::find(wanted.pids, pid) == wanted.pids.end() &&
        pid != ::getpid()) {
      wanted.pids.push_back(pid);
    }
  };
  wanted.named = TRY(named_pids(options.pids));
  if (options.job.given() && options.all) {
    return fail(ErrorId::Usage, "--all and --job cannot be combined",
                typed_but("--all", ""));
  }
  if (!options.all) {
    auto chosen = TRY(processes_or_job(wanted.named, options.job, "dump",
                                       options.common.deadline()));
    if (chosen.ranks) {
      return wanted_ranks(options, *std::move(chosen.ranks));
    }
    wanted.named = std::move(chosen.pids);
  }
  for (const int pid : wanted.named) {
    add(pid);
    if (options.children) {
      std::ranges::for_each(TRY(descendants_of(pid)), add);
    }
  }
  if (options.all) {
    std::ranges::for_each(TRY(list_processes()), add);
  }
  return wanted;
}

// With --children also those below the ranks.
WantedDump wanted_ranks(const DumpCommandOptions& options, ChosenRanks chosen) {
  WantedDump wanted;
  wanted.ranks = std::move(chosen);
  for (const JobRank& rank : wanted.ranks->ranks) {
    wanted.pids.push_back(rank.pid);
    if (options.children) {
      wanted.pids.insert(wanted.pids.end(), rank.children.begin(),
                         rank.children.end());
    }
  }
  wanted.named = wanted.pids;
  return wanted;
}

Dump dump_one(int pid, const DumpOptions& options, bool find_rank) {
  TRY(check_readable(pid));
  const PythonProcess process = TRY(
      options.native || options.tasks ? open_process(pid) : open_python(pid));
  auto dump = TRY(dump_process(LiveTarget(process), options));
  if (find_rank) {
    dump.rank = rank_of_process(pid);
  }
  return dump;
}

// Whether a process that could not be read may be Python all the same. One that
// we may not look at may not: a search does not find it.
bool is_python(ErrorId why_not) {
  return exit_code(why_not) == 4 && why_not != ErrorId::KernelThread &&
         why_not != ErrorId::Wrong32Bit;
}

}  // namespace
}  // namespace hangdbg
