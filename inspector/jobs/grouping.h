// Jobs out of single processes: what belongs together, what is whose child, and
// what is missing. Nothing is read here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "inspector/jobs/jobs.h"
#include "inspector/jobs/process_tree.h"
#include "inspector/ranks/rank_identity.h"

namespace hangdbg {

struct PythonOfJob {
  int pid = 0;
  std::optional<RankIdentity> identity;
  std::uint64_t network = 0;  // the inode of its network namespace
  bool worker = false;        // of multiprocessing, whose parent has ended
  // By multiprocessing, as a new interpreter; without an `identity` it may get
  // one.
  bool spawned = false;
};

std::vector<Job> group_jobs(const std::vector<PythonOfJob>& pythons,
                            const ProcessTree& all);

}  // namespace hangdbg
