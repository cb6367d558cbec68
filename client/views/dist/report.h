// What `hangdbg dist` has found out about the ranks of a job, or one process,
// before it is shown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspector/jobs/choice.h"
#include "inspector/jobs/torch/dist_snapshot.h"
#include "inspector/jobs/torch/group_progress.h"
#include "inspector/jobs/torch/peers.h"
#include "protocol/requests/process_groups.h"

namespace hangdbg {

struct DistRank {
  int pid = 0;
  int rank = 0;  // of what is no rank of a job: its PID
  Result<DistSnapshot> look;
  // What its own Python says, where that was asked for.
  std::optional<Result<dap::ProcessGroups::Body>> asked = {};
};

struct DistReport {
  std::optional<Job> job;
  RankSet absent;  // meant by their numbers, and not here
  std::vector<DistRank> ranks;
  std::vector<GroupProgress> groups;
  std::vector<PeerFlow> flows;           // the worst first
  std::map<int, Error> without_sockets;  // PIDs whose sockets cannot be read
  bool all_sockets = true;
  std::optional<Error> why_no_times;  // of the sockets

  // "rank 3", "process 79655", "the launcher", "10.0.0.2:4711".
  std::string who(std::optional<int> rank, const SocketAddress& address) const;
  // "rank", "ranks", "process".
  std::string whose(const RankSet& ranks) const;
};

// What is wrong, a line each, the worst first.
std::vector<std::string> findings(const DistReport& report);

}  // namespace hangdbg
