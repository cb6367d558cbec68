// Which processes a profile is of: those that were named, or the ranks of a
// job, each with how it is called.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "client/options/processes_or_job.h"
#include "client/views/record/session.h"

namespace hangdbg {

struct ChosenTargets {
  std::vector<RecordedTarget> targets;
  std::string title;  // "process 79655 (python train.py)"
  bool are_ranks = false;
  std::map<int, int> ranks = {};  // by pid
};

// `command`: "record". Errors: those of processes_or_job; NotPermitted and
// others, where a process that was named cannot be read.
Result<ChosenTargets> chosen_targets(std::vector<int> named,
                                     const JobOptions& job,
                                     std::string_view command,
                                     Deadline deadline);

}  // namespace hangdbg
