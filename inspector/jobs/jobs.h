// The parallel jobs of this machine: which of its processes are ranks of which
// job, which are their children, and which ranks should be here and are not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "inspector/ranks/rank_identity.h"
#include "inspector/ranks/rank_set.h"

namespace hangdbg {

struct JobRank {
  int rank = 0;
  int pid = 0;
  bool orphan = false;        // its starter is gone
  std::vector<int> children;  // Python processes below it: DataLoader's workers
};

struct Job {
  std::string id;               // how one says it: RankIdentity::job
  std::string kind;             // RankIdentity::kind
  std::optional<int> launcher;  // the lowest process above all its ranks
  std::optional<int> world_size;
  std::vector<JobRank> ranks;  // ascending, each once
  // Still there: of an earlier start, or a worker of a rank that has ended.
  std::vector<JobRank> left_over;
  RankSet missing;  // that this machine should have
  // Of the rest of the world: not on this machine, or no Python.
  RankSet elsewhere;
  // Started by mp.spawn as the others, without its number yet; if one is
  // missing.
  std::vector<int> unnumbered;
  // Ended children of its launcher, which has not taken notice; if one is
  // missing.
  std::vector<int> zombies;

  const JobRank* find(int pid) const;  // also by a child's PID
};

struct Jobs {
  std::vector<Job> jobs;

  struct Place {
    const Job* job;
    const JobRank* rank;
    bool left_over = false;
  };
  std::optional<Place> find(int pid) const;
};

// By what runs Python. Errors: System.
Result<Jobs> find_jobs(Deadline deadline);

// What it says of itself: a child says the same.
std::optional<RankIdentity> own_rank(int pid);

// Of one process, without a look at the others but for those above it. May wait
// for as long as the process is in D state.
std::optional<RankOfProcess> rank_of_process(int pid);

}  // namespace hangdbg
