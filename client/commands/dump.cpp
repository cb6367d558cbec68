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

#include "base/parallel_map.h"
#include "base/run_with_deadline.h"
#include "base/text.h"
#include "client/commands/dump_output.h"
#include "client/nodes/each_node.h"
#include "client/nodes/merged_tree.h"
#include "client/terminal/typed.h"
#include "injector/checks/preflight.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

using Dump = Result<ProcessDump>;

struct WantedDump {
  std::vector<int> pids;
  std::vector<int> named;            // the others were searched for
  std::optional<ChosenRanks> ranks;  // where a job's are asked
};

int run(const DumpCommandOptions& options);
Result<int> dump(const DumpCommandOptions& options);
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
  DumpOutput output{options, TRY(options.shown.style())};
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
