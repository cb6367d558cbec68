// What should be the same on all machines of a job, and where it is not:
// versions, variables, limits, clocks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/deadline.h"

namespace hangdbg {

using MachineFacts = std::map<std::string, std::string>;

// Of each of these ranks' processes, by PID. Versions of libraries are those of
// the first alone: it reads their files, and may not get to the end.
std::map<int, MachineFacts> read_machine_facts(const std::vector<int>& pids,
                                               Deadline deadline);

struct FactsOfNode {
  std::string node;
  std::vector<MachineFacts> ranks;
  // How much its clock is ahead of ours, at least and at most.
  double ahead_least_s = 0, ahead_most_s = 0;
};

// "NCCL: 2.19.3 on n3, 2.21.5 on n[1-2]", what the fewest nodes have first.
std::vector<std::string> differences(const std::vector<FactsOfNode>& nodes);

// Seconds of CLOCK_REALTIME.
double clock_now();

}  // namespace hangdbg
