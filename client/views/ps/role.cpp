#include "client/views/ps/role.h"

#include <algorithm>

namespace hangdbg {

Role role_of(const Jobs& jobs, int pid) {
  for (const Job& job : jobs.jobs) {
    if (const JobRank* rank = job.find(pid)) {
      const bool old = std::ranges::find(job.left_over, rank->pid,
                                         &JobRank::pid) != job.left_over.end();
      return {job.id,
              old                ? "left over"
              : rank->pid == pid ? "rank"
                                 : "child",
              rank->rank};
    }
    if (is_unnumbered(job, pid)) {
      return {job.id, "no number yet", std::nullopt};
    }
    if (job.launcher == pid) {
      return {job.id, "launcher", std::nullopt};
    }
  }
  return {};
}

bool is_unnumbered(const Job& job, int pid) {
  return std::ranges::find(job.unnumbered, pid) != job.unnumbered.end();
}

}  // namespace hangdbg
