// Which ranks of which job a command is about: --job and --ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "inspector/jobs/jobs.h"

namespace hangdbg {

struct JobOptions {
  std::string job;    // its name, a process of it, or "auto"
  std::string ranks;  // as RankChoice takes it
  // Those of them that are not here are on another machine, which is queried,
  // too.
  bool some_elsewhere = false;

  bool given() const { return !job.empty() || !ranks.empty(); }
};

struct ChosenRanks {
  Job job;                     // all of it
  std::vector<JobRank> ranks;  // those that are meant, and here
  RankSet absent;              // meant by their numbers, and not here
};

// Errors: Usage, where there is no such job, or there are several.
Result<ChosenRanks> choose_ranks(const JobOptions& options, Deadline deadline);

// Among these.
Result<ChosenRanks> choose_ranks(const JobOptions& options, Jobs found);

// All of the only job here: nothing if there is none or several.
std::optional<ChosenRanks> only_job(Deadline deadline);

// "job run-7 (torch, 4 ranks)": what one is told was chosen.
std::string job_text(const Job& job);

// What is wrong with the job as a whole, a line each: ranks that are missing,
// orphans, what an earlier start has left over.
std::vector<std::string> findings(const Job& job);

}  // namespace hangdbg
