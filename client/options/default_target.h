// Which process is meant where none is named: the only one that hangs here.
#pragma once

#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "client/options/job_options.h"
#include "client/options/options.h"

namespace hangdbg {

// The one that is named; if none is, the only one that hangs. Errors: Usage.
Result<int> chosen_process(const TargetOption& target, Deadline deadline);

// The same, or a rank: `command` ("fds") is for one process. Errors: Usage.
Result<int> chosen_process(const TargetOption& target,
                           const JobOptions& job,
                           std::string_view command,
                           Deadline deadline);

// Says on stderr which one it is. Error: Usage, where none hangs, or several.
Result<int> default_target(Deadline deadline);

}  // namespace hangdbg
