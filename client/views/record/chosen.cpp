#include "client/views/record/chosen.h"

#include <fmt/core.h>

#include <utility>

#include "base/text.h"
#include "injector/checks/preflight.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {

Result<ChosenTargets> chosen_targets(std::vector<int> named,
                                     const JobOptions& job,
                                     std::string_view command,
                                     Deadline deadline) {
  const auto chosen =
      TRY(processes_or_job(std::move(named), job, command, deadline));
  ChosenTargets all;
  if (chosen.ranks) {
    for (const JobRank& rank : chosen.ranks->ranks) {
      all.targets.push_back({rank.pid, fmt::format("rank {}", rank.rank)});
      all.ranks[rank.pid] = rank.rank;
    }
    all.title = job_text(chosen.ranks->job);
    all.are_ranks = true;
    return all;
  }
  for (const int pid : chosen.pids) {
    TRY(check_readable(pid));
    all.targets.push_back({pid, ""});
  }
  all.title = chosen.pids.size() == 1
                  ? fmt::format("process {} ({})", chosen.pids[0],
                                shell_quote(read_command_line(chosen.pids[0])))
                  : fmt::format("{} processes", chosen.pids.size());
  return all;
}

}  // namespace hangdbg
