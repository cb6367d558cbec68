// Which ranks of a job wait for which in the collectives of torch.distributed:
// each for those of its group that have not reached its call. Nothing is read
// here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inspector/jobs/torch/collective_calls.h"
#include "inspector/jobs/torch/process_groups.h"
#include "inspector/ranks/rank_set.h"

namespace hangdbg {

struct RankAtMeeting {
  int rank = 0;
  std::optional<CollectiveCall> call;  // it waits there
  const ProcessGroups* groups = nullptr;
};

struct Meeting {
  // By waiting rank. Without awaited ranks, all that it needs have arrived.
  std::map<int, RankSet> waits_for;

  // Ranks that wait in one group, in another call than most of it.
  RankSet mismatched;
  std::string what;        // "all_gather (...)": the call of these
  RankSet most;            // the others
  std::string others;      // and their call
  std::string where;       // "as collective 3 of group 0"
  bool by_number = false;  // torch's own count says that it is one call

  // Awaited, and in no collective themselves.
  RankSet odd() const;
  // The ranks of a deadlock cycle; empty if there is none.
  std::vector<int> cycle() const;
};

// `gone`: ranks of the job that have ended. Unknown ranks are not awaited.
Meeting meet(const std::vector<RankAtMeeting>& ranks, const RankSet& gone);

}  // namespace hangdbg
