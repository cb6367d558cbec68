#include "client/views/evidence/processes.h"

#include <fmt/core.h>

#include <algorithm>

#include "client/options/default_target.h"
#include "client/terminal/reported.h"
#include "client/terminal/typed.h"
#include "protocol/reports/processes.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {}  // namespace

void add_processes_option(cli::Command command, ProcessesOption& option) {
  add_pids_option(command, option.named);
  add_job_options(command, option.job);
  command.add_flag("-s,--subprocesses,--children", option.children,
                   "Include child processes");
}

Result<ChosenProcesses> chosen_processes(const ProcessesOption& option,
                                         std::string_view command,
                                         Deadline deadline) {
  ChosenProcesses chosen{.pids = TRY(named_pids(option.named)), .ranks = {}};
  std::vector<int>& pids = chosen.pids;
  const auto add = [&](int pid) {
    if (std::ranges::find(pids, pid) == pids.end()) {
      pids.push_back(pid);
    }
  };
  if (option.job.given()) {
    const auto found =
        TRY(processes_or_job(pids, option.job, command, deadline));
    for (const JobRank& rank : found.ranks->ranks) {
      add(rank.pid);
      chosen.ranks.emplace(rank.pid, rank.rank);
    }
  } else if (pids.empty()) {
    add(TRY(default_target(deadline)));
  }
  if (pids.size() == 1) {
    TRY(read_status(pids[0]));  // whether there is one
  }
  if (option.children) {
    for (const int pid : std::vector(pids)) {
      std::ranges::for_each(TRY(descendants_of(pid)), add);
    }
  }
  return chosen;
}

void EvidenceOutput::show(int pid, const std::string& text) {
  const auto rank = chosen_.ranks.find(pid);
  print_now(
      stdout,
      (any_ ? "\n" : "") +
          (rank == chosen_.ranks.end()
               ? ""
               : out().bold(fmt::format("rank {}", rank->second)) + "\n") +
          text);
  any_ = true;
}

void EvidenceOutput::show(int pid, Error error) {
  if (error.id == ErrorId::NotPermitted) {
    error.hint = "sudo " + typed_command();
  } else if (error.id == ErrorId::TimedOut) {
    error.hint = typed_with("--timeout", "60");
  }
  failed_ = chosen_.pids.size() > 1 ? 1 : exit_code(error.id);
  if (common_.json) {
    show(encode(reports::FailedProcess{pid, reported(error)}));
  } else {
    report(error, Palette(common_.colour, stderr));
  }
}

int EvidenceOutput::finish() {
  if (common_.json) {
    print_json(encode(reports::Processes{processes_}));
  }
  return failed_.value_or(0);
}

}  // namespace hangdbg
