// Who of a job waits for whom in the collectives of torch.distributed: each for
// those of its group that have not come to where it is. Nothing is read here.
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
  // By who waits. Of who waits for nobody, all that it needs have come.
  std::map<int, RankSet> waits_for;

  // Ranks that wait in one group, and not in what most of it are in.
  RankSet mismatched;
  std::string what;        // "all_gather (...)": what these are in
  RankSet most;            // the others
  std::string others;      // and what they are in
  std::string where;       // "as collective 3 of group 0"
  bool by_number = false;  // torch's own count says that it is one place

  // Waited for, and in no collective themselves.
  RankSet odd() const;
  // A rank of those that wait for each other; empty if none do.
  std::vector<int> cycle() const;
};

// `gone`: ranks of the job that have ended. Ranks of which nothing is known are
// not waited for.
Meeting meet(const std::vector<RankAtMeeting>& ranks, const RankSet& gone);

}  // namespace hangdbg
