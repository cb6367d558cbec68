#include "client/commands/dump.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/in_parallel.h"
#include "base/in_time.h"
#include "base/text.h"
#include "client/dump/json.h"
#include "client/dump/options.h"
#include "client/dump/text.h"
#include "client/dump/tree.h"
#include "client/only_hung.h"
#include "injector/preflight.h"
#include "inspector/process_dump.h"
#include "tracee/proc_list.h"
#include "tracee/proc_status.h"

namespace hangdbg {
namespace {

struct Options {
  CommonOptions common;
  std::vector<std::string> positional;
  std::vector<std::string> flagged;
  bool all = false;
  bool children = false;
  bool nonblocking = false;
  bool merge = false;
  ShownOptions shown;
};

using Dump = Result<ProcessDump>;

struct Wanted {
  std::vector<int> pids;
  std::vector<int> named;  // the others were searched for
};

// What has been shown, and what is still to be printed as JSON.
struct Output {
  const Options& options;
  DumpStyle style;
  Palette out{options.common.colour, stdout};
  Palette err{options.common.colour, stderr};
  bool any = false;
  std::optional<Error> failed = {};
  std::vector<Json> processes = {};
  std::vector<ProcessDump> to_merge = {};
  std::vector<std::pair<int, Error>> missing = {};

  void show(const ProcessDump& dump);
  void show(int pid, const Error& error);
  int finish();  // the exit code
};

int run(const Options& options);
Result<int> dump(const Options& options);
Result<Wanted> wanted(const Options& options);
Dump dump_one(int pid, const DumpOptions& options);
bool is_python(ErrorId why_not);

}  // namespace

void add_dump(CLI::App& app, Run& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand(
      "dump", "Show the stacks of all threads, read from outside");
  command.add_option("PID", options->positional, "The processes")
      ->type_name("")
      ->option_text(" ");
  command
      .add_option("-p,--pid", options->flagged,
                  "A process, as py-spy has it; may be repeated")
      ->type_name("PID")
      ->allow_extra_args(false);
  command.add_flag("--all", options->all, "Every Python process I may see");
  command.add_flag("-s,--subprocesses,--children", options->children,
                   "Those that they have started as well");
  add_shown_options(command, options->shown);
  command.add_flag(
      "--merge", options->merge,
      "One tree of all their stacks: who is where, and who is not");
  command.add_flag("--nonblocking", options->nonblocking,
                   "Stop nothing; what may be from two moments is marked");
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "No code runs in the process. A thread that sleeps is not touched; one "
      "that\n"
      "runs stands still for some tens of microseconds.\n"
      "Without a PID the only process that hangs here is meant, if there is "
      "one.\n"
      "Examples:\n"
      "  hangdbg dump 79655\n"
      "  hangdbg dump 79655 --children --source=3\n"
      "  hangdbg dump 79655 --locals=1\n"
      "  hangdbg dump --children 79655 --merge\n"
      "  hangdbg dump --all --json");
  command.final_callback(
      [options, &chosen] { chosen = [options] { return run(*options); }; });
}

namespace {

int run(const Options& options) {
  const auto code = dump(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

Result<int> dump(const Options& options) {
  TRY(options.common.configure_log());
  const auto [pids, named] = TRY(wanted(options));
  const ShownOptions& shown = options.shown;
  if (options.merge &&
      (shown.tasks || !shown.locals.empty() || !shown.source.empty())) {
    return fail(ErrorId::Usage,
                "--merge shows stacks alone: no --locals, --source or --tasks",
                "hangdbg dump --help");
  }
  Output output{options, TRY(options.shown.style())};
  DumpOptions how = TRY(options.shown.dump_options());
  how.may_stop = !options.nonblocking;
  const auto show = [&](int pid, std::optional<Dump> result) {
    if (!result) {
      output.show(pid, not_read_in_time(pid));
    } else if (*result) {
      output.show(**result);
    } else if (std::ranges::find(named, pid) != named.end() ||
               is_python(result->error().id)) {
      output.show(pid, result->error());
    }
  };
  if (pids.size() == 1) {
    return in_time<Dump>(
        options.common.deadline(), [&] { return dump_one(pids[0], how); },
        [&](std::optional<Dump> result) {
          show(pids[0], std::move(result));
          return output.finish();
        });
  }
  const bool ended = in_parallel<ProcessDump>(
      pids, options.common.deadline(),
      [how](int pid) { return dump_one(pid, how); }, show);
  const int code = output.finish();
  if (!ended) {
    ::_exit(code);
  }
  return code;
}

void Output::show(const ProcessDump& dump) {
  if (options.merge) {
    to_merge.push_back(dump);
  } else if (options.common.json) {
    processes.push_back(dump_json(dump));
  } else {
    print_now(stdout, (any ? "\n" : "") + dump_text(dump, style, out));
  }
  any = true;
}

void Output::show(int pid, const Error& error) {
  failed = error;
  missing.emplace_back(pid, error);
  if (options.common.json) {
    processes.push_back(dump_json(pid, error));
  } else {
    report(error, err);
  }
}

// That of the only process, or 1 if some could not be read.
int Output::finish() {
  if (options.merge) {
    const StackTree tree = merge_dumps(to_merge);
    print_now(stdout, options.common.json
                          ? tree_json(tree, missing).dump() + "\n"
                          : tree_text(tree, style, out));
  } else if (options.common.json) {
    print_now(stdout, dumps_json(processes).dump() + "\n");
  }
  if (failed) {
    return any || missing.size() > 1 ? 1 : exit_code(failed->id);
  }
  return any ? 0
             : report({.id = ErrorId::NotPython,
                       .message = "no Python process is to be seen here",
                       .hint = "hangdbg ps"},
                      err);
}

Result<Wanted> wanted(const Options& options) {
  Wanted wanted;
  const auto add = [&wanted](int pid) {
    if (std::ranges::find(wanted.pids, pid) == wanted.pids.end() &&
        pid != ::getpid()) {
      wanted.pids.push_back(pid);
    }
  };
  for (const auto* const words : {&options.positional, &options.flagged}) {
    for (const std::string& word : *words) {
      wanted.named.push_back(TRY(parse_pid(word)));
    }
  }
  if (wanted.named.empty() && !options.all) {
    wanted.named.push_back(TRY(only_hung_process(options.common.deadline())));
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

Dump dump_one(int pid, const DumpOptions& options) {
  TRY(check_readable(pid));
  const InspectedProcess process = TRY(open_process(pid));
  return dump_process(LiveSubject(process), options);
}

// Whether a process that could not be read may be Python all the same, as one
// that we may not look at may not: for who searches, it is not there.
bool is_python(ErrorId why_not) {
  return exit_code(why_not) == 4 && why_not != ErrorId::KernelThread &&
         why_not != ErrorId::Wrong32Bit;
}

}  // namespace
}  // namespace hangdbg
