#include "client/commands/ps.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>

#include "base/text.h"
#include "client/options/job_options.h"
#include "client/options/options.h"
#include "client/options/processes_or_job.h"
#include "client/views/ps/causes.h"
#include "client/views/ps/json.h"
#include "client/views/ps/role.h"
#include "diagnosis/survey/survey.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

struct PsOptions {
  CommonOptions common;
  PidsOption named;
  JobOptions job;
  bool tree = false;
  double hung_after_s = kHungAfterS;
  bool causes = false;  // why they hang, too
};

struct Row {
  const SurveyedProcess* process;
  std::size_t depth;  // in the tree
};

using Cells = std::array<std::string, 8>;
using Widths = std::array<std::size_t, 7>;  // of all but the last
using Processes = std::vector<SurveyedProcess>;

int run(const PsOptions& options);
Result<int> list(const PsOptions& options);
Status check_all_there(const std::vector<int>& named,
                       const Processes& processes);
Status keep_job(const JobOptions& options, Jobs& jobs, Processes& processes);
void show_table(const PsOptions& options,
                const Processes& processes,
                const Jobs& jobs);
std::vector<Row> as_tree(const Processes& processes);
Cells cells_of(const Row& row, const Jobs& jobs);
std::string since(const Activity& activity);
std::string line_of(const Cells& cells, const Widths& widths);
bool is_utf8_tail(char byte);
void show_next(const Processes& processes,
               const Jobs& jobs,
               const Palette& err);

}  // namespace

void add_ps(cli::Command program) {
  const auto options = std::make_shared<PsOptions>();
  const cli::Command command = program.add_command(
      "ps", "List the Python processes here, those that hang first");
  add_pids_option(command, options->named);
  add_job_options(command, options->job);
  command.add_flag("--tree", options->tree, "Children under their parents");
  command
      .add_option(
          "--hung-after", options->hung_after_s,
          "Treat a thread that waits for this long as hung (default 10)")
      .type_name("SECONDS")
      .in_range(0.1, 1e9);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "What hangs is what `hangdbg diagnose PID` says, without stopping a "
      "thread or\n"
      "watching one for seconds: a loop in which nothing changes, and a thread "
      "that polls\n"
      "in CUDA, NCCL or MPI, are told by that alone. No code runs in the "
      "processes.\n"
      "Examples:\n"
      "  hangdbg ps\n"
      "  hangdbg ps 79655\n"
      "  hangdbg ps --tree\n"
      "  hangdbg ps --job auto\n"
      "  hangdbg ps --json");
  command.runs([options] { return run(*options); });
}

int run_ps() {
  return run({.causes = true});
}

namespace {

int run(const PsOptions& options) {
  const auto code = list(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

Result<int> list(const PsOptions& options) {
  TRY(options.common.configure_log());
  const Deadline deadline = options.common.deadline();
  const auto named = TRY(named_pids(options.named));
  if (!named.empty() && options.job.given()) {
    return fail(ErrorId::Usage, "either processes are named, or a job is",
                "hangdbg ps --help");
  }
  auto processes = TRY(survey(options.hung_after_s, deadline, named));
  TRY(check_all_there(named, processes));
  Jobs jobs = TRY(find_jobs(deadline));
  if (!named.empty()) {
    std::erase_if(jobs.jobs, [&](const Job& job) {
      return std::ranges::none_of(named, [&](int pid) {
        return job.launcher == pid || job.find(pid) != nullptr;
      });
    });
  }
  if (options.job.given()) {
    TRY(keep_job(options.job, jobs, processes));
  }
  hung_first(processes);
  if (options.common.json) {
    print_json(processes_json(processes, jobs));
  } else {
    show_table(options, processes, jobs);
    const Palette err(options.common.colour, stderr);
    show_next(processes, jobs, err);
    if (options.causes) {
      say(stderr, "{}", causes_text(processes, jobs, deadline, err));
    }
  }
  return 0;
}

// Errors: NoSuchProcess, NotPython.
Status check_all_there(const std::vector<int>& named,
                       const Processes& processes) {
  for (const int pid : named) {
    if (std::ranges::find(processes, pid, &SurveyedProcess::pid) ==
        processes.end()) {
      TRY(read_status(pid));
      return fail(ErrorId::NotPython,
                  fmt::format("{} is no Python", process_text(pid)),
                  "hangdbg ps lists the Python processes");
    }
  }
  return {};
}

// That one's processes alone: its ranks, their children, the launcher.
Status keep_job(const JobOptions& options, Jobs& jobs, Processes& processes) {
  ChosenRanks chosen = TRY(choose_ranks(options, std::move(jobs)));
  std::erase_if(processes, [&](const SurveyedProcess& process) {
    const JobRank* const rank = chosen.job.find(process.pid);
    return rank == nullptr
               ? !options.ranks.empty() ||
                     (process.pid != chosen.job.launcher &&
                      !is_unnumbered(chosen.job, process.pid))
               : std::ranges::find(chosen.ranks, rank->pid, &JobRank::pid) ==
                         chosen.ranks.end() &&
                     !options.ranks.empty();
  });
  jobs.jobs.clear();
  jobs.jobs.push_back(std::move(chosen.job));
  return {};
}

void show_table(const PsOptions& options,
                const Processes& processes,
                const Jobs& jobs) {
  const Palette out(options.common.colour, stdout);
  std::vector<Row> rows;
  if (options.tree) {
    rows = as_tree(processes);
  } else {
    for (const SurveyedProcess& process : processes) {
      rows.push_back({&process, 0});
    }
  }
  std::vector<Cells> table = {{"PID", "RANK", "JOB", "PYTHON", "STATE", "SINCE",
                               "WAITS FOR", "COMMAND"}};
  for (const Row& row : rows) {
    table.push_back(cells_of(row, jobs));
  }
  Widths widths{};
  for (const Cells& cells : table) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], cells[i].size());
    }
  }
  if (jobs.jobs.empty()) {
    widths[1] = widths[2] = 0;
  }
  std::string text = out.bold(line_of(table.front(), widths)) + "\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string line = line_of(table[i + 1], widths);
    text += (rows[i].process->hung() ? out.red(line) : line) + "\n";
  }
  if (!rows.empty()) {
    print_now(stdout, text);
  }
}

// Each below its parent, if that is Python too; otherwise the order stays.
std::vector<Row> as_tree(const Processes& processes) {
  std::map<int, const SurveyedProcess*> by_pid;
  for (const SurveyedProcess& process : processes) {
    by_pid[process.pid] = &process;
  }
  std::map<const SurveyedProcess*, std::vector<const SurveyedProcess*>>
      children;  // the roots are nobody's
  for (const SurveyedProcess& process : processes) {
    const auto parent = by_pid.find(process.ppid);
    children[parent == by_pid.end() ? nullptr : parent->second].push_back(
        &process);
  }
  std::vector<Row> rows;
  std::vector<Row> next;  // the last one first
  const auto add_children = [&](const SurveyedProcess* of, std::size_t depth) {
    std::ranges::for_each(children[of].rbegin(), children[of].rend(),
                          [&](const SurveyedProcess* child) {
                            next.push_back({child, depth});
                          });
  };
  add_children(nullptr, 0);
  while (!next.empty()) {
    rows.push_back(next.back());
    next.pop_back();
    add_children(rows.back().process, rows.back().depth + 1);
  }
  return rows;
}

Cells cells_of(const Row& row, const Jobs& jobs) {
  const SurveyedProcess& process = *row.process;
  const Activity& activity = process.activity;
  const Role role = role_of(jobs, process.pid);
  return {fmt::format("{}", process.pid),
          !role.rank
              ? ""
              : fmt::format("{}{}", *role.rank, role.name == "rank" ? "" : "+"),
          printable(role.job.value_or("")),
          process.python.empty() ? "?" : process.python,
          process.hung() ? "hung" : activity.state,
          since(activity),
          printable(activity.waits.empty() && process.error
                        ? fmt::format("({})", process.error->text())
                        : activity.waits),
          std::string(2 * row.depth, ' ') +
              (process.command_line.empty()
                   ? "-"
                   : printable(shell_quote(process.command_line)))};
}

std::string since(const Activity& activity) {
  if (!activity.waiting_s) {
    return "-";
  }
  return human_duration(std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(*activity.waiting_s)));
}

// What does not fit on a terminal's line is cut off the command.
std::string line_of(const Cells& cells, const Widths& widths) {
  std::string line;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const bool number = i < 2 || i == 5;
    if (widths[i] > 0) {
      line += number ? fmt::format("{:>{}}  ", cells[i], widths[i])
                     : fmt::format("{:{}}  ", cells[i], widths[i]);
    }
  }
  if (::isatty(STDOUT_FILENO) == 0) {
    return line + cells.back();
  }
  constexpr std::size_t kLeast = 20;
  const auto columns = static_cast<std::size_t>(terminal_columns());
  std::size_t room = std::max(columns, line.size() + kLeast) - line.size();
  const std::string& command = cells.back();
  while (room < command.size() && is_utf8_tail(command[room])) {
    --room;
  }
  return line + command.substr(0, room);
}

// A byte of a character that is not its first.
bool is_utf8_tail(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// On stderr: what is piped on is the table.
void show_next(const Processes& processes,
               const Jobs& jobs,
               const Palette& err) {
  if (processes.empty()) {
    say(stderr, "no Python process is to be seen here\n");
    return;
  }
  const auto hung = std::ranges::count_if(processes, &SurveyedProcess::hung);
  const auto denied = std::ranges::count_if(processes, [](const auto& process) {
    return process.error && exit_code(process.error->id) == 3;
  });
  say(stderr, "\n{} of {} {}\n", hung == 0 ? "none" : fmt::format("{}", hung),
      processes.size(), hung == 1 ? "hangs" : "hang");
  if (const std::size_t more = unjudged(processes); more > 0) {
    say(stderr,
        "whether {} more hang is not known: there was no time for them\n",
        more);
  }
  for (const Job& job : jobs.jobs) {
    say(stderr, "{}: {} here{}\n", job_text(job), job.ranks.size(),
        job.elsewhere.empty() ? "" : ", the others on other machines");
    for (const std::string& finding : findings(job)) {
      say(stderr, "  {}\n", err.red(finding));
    }
    say(stderr, "  try: {}    where they part\n",
        err.bold(fmt::format("hangdbg dump --job {} --merge",
                             jobs.jobs.size() == 1 ? "auto"
                             : job.launcher ? fmt::format("{}", *job.launcher)
                                            : shell_quote(job.id))));
  }
  if (hung > 0) {
    const int pid = processes.front().pid;
    say(stderr, "  try: {}    its stacks; no code runs in it\n",
        err.bold(fmt::format("hangdbg dump {}", pid)));
    say(stderr, "       {}  a prompt in the hung frame\n",
        err.bold(fmt::format("hangdbg attach {}", pid)));
  }
  if (denied > 0) {
    say(stderr, "{} may not be looked into by you\n  try: {}\n", denied,
        err.bold("sudo hangdbg ps"));
  }
}

}  // namespace
}  // namespace hangdbg
