// What a process is in a job, in words.
#pragma once

#include <optional>
#include <string>

#include "inspector/jobs/jobs.h"

namespace hangdbg {

struct Role {
  std::optional<std::string> job;
  // "rank", "child", "left over", "no number yet", "launcher"
  std::optional<std::string> name;
  std::optional<int> rank;  // also of a rank's child
};

Role role_of(const Jobs& jobs, int pid);

// Whether it is of that job, and has no number yet.
bool is_unnumbered(const Job& job, int pid);

}  // namespace hangdbg
