#include "client/options/processes_or_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "client/options/default_target.h"
#include "client/terminal/render.h"

namespace hangdbg {

void add_pids_option(cli::Command command, PidsOption& option) {
  command
      .add_option("PID", option.positional, "PIDs of the processes to inspect")
      .bare();
  command
      .add_option("-p,--pid", option.flagged,
                  "PID of the process to inspect (repeatable)")
      .type_name("PID")
      .one_at_a_time();
}

Result<std::vector<int>> named_pids(const PidsOption& option) {
  std::vector<int> pids;
  for (const auto* const words : {&option.positional, &option.flagged}) {
    for (const std::string& word : *words) {
      const int pid = TRY(parse_pid(word));
      if (std::ranges::find(pids, pid) == pids.end()) {
        pids.push_back(pid);
      }
    }
  }
  return pids;
}

Result<ProcessesOrJob> processes_or_job(std::vector<int> named,
                                        const JobOptions& job,
                                        std::string_view command,
                                        Deadline deadline) {
  if (!named.empty() && job.given()) {
    return fail(
        ErrorId::Usage, "a PID and --job cannot be combined",
        fmt::format(
            "hangdbg {} --job {}{}", command,
            shell_quote(job.job.empty() ? "auto" : job.job),
            job.ranks.empty() ? "" : " --ranks " + shell_quote(job.ranks)));
  }
  if (job.given()) {
    return ProcessesOrJob{.ranks = TRY(choose_ranks(job, deadline))};
  }
  if (!named.empty()) {
    return ProcessesOrJob{.pids = std::move(named)};
  }
  if (auto only = only_job(deadline)) {
    say(stderr, "using {}, the only job here\n", job_text(only->job));
    return ProcessesOrJob{.ranks = std::move(only)};
  }
  return ProcessesOrJob{.pids = {TRY(default_target(deadline))}};
}

}  // namespace hangdbg
