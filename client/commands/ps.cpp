#include "client/commands/ps.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <limits>
#include <map>
#include <memory>

#include "base/text.h"
#include "client/nodes/each_node.h"
#include "client/options/job_options.h"
#include "client/options/options.h"
#include "client/options/processes_or_job.h"
#include "client/options/via_option.h"
#include "client/views/ps/json.h"
#include "client/views/ps/next.h"
#include "client/views/ps/role.h"
#include "diagnosis/survey/survey.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

struct PsOptions {
  CommonOptions common;
  ViaOption via;
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
void fit_to_terminal(Widths& widths);
std::size_t most_rows(const PsOptions& options);
std::vector<Row> as_tree(const Processes& processes);
Cells cells_of(const Row& row, const Jobs& jobs);
std::string since(const SurveyedProcess& process);
std::string short_command(const Row& row);
std::string line_of(const Cells& cells,
                    const Widths& widths,
                    const std::string& shorter);
std::string cut(const std::string& text, std::size_t room);
bool is_utf8_tail(char byte);

}  // namespace

void add_ps(cli::Command program) {
  const auto options = std::make_shared<PsOptions>();
  const cli::Command command =
      program.add_command("ps", "List Python processes, hung ones first");
  add_pids_option(command, options->named);
  add_job_options(command, options->job);
  command.add_flag("--tree", options->tree,
                   "Show children below their parents");
  command
      .add_option("--hung-after", options->hung_after_s,
                  "Call a process stalled that is blocked for longer than this "
                  "(default "
                  "10)")
      .type_name("SECONDS")
      .in_range(0.1, 1e9);
  add_via_option(command, options->via);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg ps\n"
      "  hangdbg ps 79655\n"
      "  hangdbg ps --tree\n"
      "  hangdbg ps --job auto\n"
      "  hangdbg ps --json\n"
      "\n"
      "Applies the rules of `hangdbg diagnose`, but stops no thread and "
      "watches none for seconds. Only `diagnose` detects a loop in which "
      "nothing changes, and a thread that polls in CUDA, NCCL or MPI.\n"
      "\n"
      "Runs no code in the processes.");
  command.runs(run_via(options->via, options->common,
                       [options] { return run(*options); }));
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
    return fail(
        ErrorId::Usage, "a PID and --job cannot be combined",
        "hangdbg ps --job " +
            shell_quote(options.job.job.empty() ? "auto" : options.job.job));
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
    say(stderr, "{}",
        next_text(processes, jobs,
                  options.causes ? std::optional(deadline) : std::nullopt,
                  err));
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
                  fmt::format("{} is not a Python process", process_text(pid)),
                  "hangdbg ps");
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
  fit_to_terminal(widths);
  const std::size_t shown = std::min(rows.size(), most_rows(options));
  std::string text = out.bold(line_of(table.front(), widths, "")) + "\n";
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string line =
        line_of(table[i + 1], widths, short_command(rows[i]));
    text += (rows[i].process->hung() ? out.red(line) : line) + "\n";
  }
  if (shown < rows.size()) {
    text += fmt::format("... and {} more: {}\n", rows.size() - shown,
                        out.bold("hangdbg ps"));
  }
  if (!rows.empty()) {
    print_now(stdout, text);
  }
}

// The command has some room on the line, whatever the others have.
void fit_to_terminal(Widths& widths) {
  if (::isatty(STDOUT_FILENO) == 0) {
    return;
  }
  constexpr std::size_t kCommand = 20;
  constexpr std::size_t kLeast = 16;
  std::size_t others = 0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    others += widths[i] > 0 ? widths[i] + 2 : 0;
  }
  const auto columns = static_cast<std::size_t>(terminal_columns());
  const std::size_t left =
      columns > others + 2 + kCommand ? columns - others - 2 - kCommand : 0;
  widths.back() = std::min(widths.back(), std::max(left, kLeast));
}

// Of `hangdbg` alone, at a terminal: what is below the table is on the same
// screen.
std::size_t most_rows(const PsOptions& options) {
  constexpr std::size_t kBelow = 17;
  constexpr std::size_t kLeast = 4;
  if (!options.causes || ::isatty(STDOUT_FILENO) == 0) {
    return std::numeric_limits<std::size_t>::max();
  }
  const auto lines = static_cast<std::size_t>(terminal_lines());
  return lines > kBelow + kLeast ? lines - kBelow : kLeast;
}

// Each below its parent, if that is Python too; otherwise the order stays.
std::vector<Row> as_tree(const Processes& processes) {
  std::map<int, const SurveyedProcess*> by_pid;
  for (const SurveyedProcess& process : processes) {
    by_pid[process.pid] = &process;
  }
  std::map<const SurveyedProcess*, std::vector<const SurveyedProcess*>>
      children;  // the roots have no parent
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
          process.state(),
          since(process),
          printable(!activity.waits.empty() || !process.error ? activity.waits
                    : is_denied(process)
                        ? "(not permitted)"
                        : fmt::format("({})", process.error->text())),
          std::string(2 * row.depth, ' ') +
              (process.command_line.empty()
                   ? "-"
                   : printable(shell_quote(process.command_line)))};
}

std::string since(const SurveyedProcess& process) {
  const auto waiting_s = process.waiting_s();
  if (!waiting_s) {
    return "-";
  }
  return human_duration(std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(*waiting_s)));
}

// The interpreter's and the script's folders are what one needs least.
std::string short_command(const Row& row) {
  std::vector<std::string> words = row.process->command_line;
  const auto without_folder = [](std::string& word) {
    word.erase(0, word.find_last_of('/', word.size() - 2) + 1);
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == 0 || !words[i].starts_with('-')) {
      if (words[i].size() > 1) {
        without_folder(words[i]);
      }
    }
    // The script, or an option behind which there is none.
    if (i > 0 &&
        (!words[i].starts_with('-') || words[i] == "-c" || words[i] == "-m")) {
      break;
    }
    if (words[i] == "-W" || words[i] == "-X") {
      ++i;
    }
  }
  return std::string(2 * row.depth, ' ') +
         (words.empty() ? "-" : printable(shell_quote(words)));
}

// What does not fit on a terminal's line is cut off the command, which is
// `shorter` then.
std::string line_of(const Cells& cells,
                    const Widths& widths,
                    const std::string& shorter) {
  std::string line;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const bool number = i < 2 || i == 5;
    if (widths[i] > 0) {
      const std::string cell = cut(cells[i], widths[i]);
      line += number ? fmt::format("{:>{}}  ", cell, widths[i])
                     : fmt::format("{:{}}  ", cell, widths[i]);
    }
  }
  if (::isatty(STDOUT_FILENO) == 0) {
    return line + cells.back();
  }
  constexpr std::size_t kLeast = 20;
  const auto columns = static_cast<std::size_t>(terminal_columns());
  const std::size_t room =
      std::max(columns, line.size() + kLeast) - line.size();
  return line +
         (cells.back().size() <= room ? cells.back() : cut(shorter, room));
}

// As many bytes at most, with dots where something is left out.
std::string cut(const std::string& text, std::size_t room) {
  constexpr std::string_view kDots = "...";
  if (text.size() <= room || room < kDots.size()) {
    return text.substr(0, std::min(text.size(), room));
  }
  std::size_t end = room - kDots.size();
  while (end > 0 && is_utf8_tail(text[end])) {
    --end;
  }
  return text.substr(0, end) + std::string(kDots);
}

// A byte of a character that is not its first.
bool is_utf8_tail(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

}  // namespace
}  // namespace hangdbg
