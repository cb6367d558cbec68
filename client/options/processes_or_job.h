// Which processes a command is for that takes several: PID... and -p/--pid, or
// --job; without either the only job here, else the only process that hangs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/options/job_options.h"
#include "client/options/options.h"

namespace hangdbg {

struct PidsOption {
  std::vector<std::string> positional, flagged;
};
void add_pids_option(cli::Command command, PidsOption& option);

// Each once, as named. Errors: Usage.
Result<std::vector<int>> named_pids(const PidsOption& option);

// Either.
struct ProcessesOrJob {
  std::vector<int> pids;
  std::optional<ChosenRanks> ranks;
};
// `command`: "diagnose". Errors: Usage, NoSuchProcess.
Result<ProcessesOrJob> processes_or_job(std::vector<int> named,
                                        const JobOptions& job,
                                        std::string_view command,
                                        Deadline deadline);

}  // namespace hangdbg
