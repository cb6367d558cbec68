// The progress of the ranks of each process group, compared: which are behind,
// and which are in another collective than the rest. Nothing is read here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inspector/jobs/torch/process_groups.h"
#include "inspector/ranks/rank_set.h"

namespace hangdbg {

// Where some of its ranks are.
struct GroupStep {
  std::int64_t begun = 0;    // the last collective's number
  std::optional<bool> over;  // whether that one is completed, if it is known
  // Of one that is not: whether a device has begun it, if that is known.
  std::optional<bool> started;
  std::int64_t pending = 0;  // that are not over, if it is known how many
  std::string name;          // "ALLREDUCE"; "" if not known
  RankSet ranks;
};

struct GroupProgress {
  std::string name;
  std::string backend;       // as it was asked for: "cpu:gloo,cuda:nccl"
  std::string backend_type;  // "ProcessGroupGloo"
  bool is_default = false;
  std::vector<int> ranks;        // all of it
  std::vector<GroupStep> steps;  // the farthest first
  RankSet uncounted;             // seen, and their numbers could not be read
  RankSet unseen;                // of its ranks, those that were not looked at
  // All of them count collectives alone.
  bool exact = true;
  // Their numbers say nothing about each other: they run, or count what they
  // send and receive as well.
  bool apart = false;

  // Ranks that have begun less than the farthest. Empty if they are `apart`.
  RankSet behind() const;
  // Of those that have begun the farthest, the ranks in another one than most.
  RankSet mismatched() const;
};

struct GroupsOfRank {
  int rank = 0;
  const ProcessGroups* groups;
};

// A group with several backends is one for each. Those that are in trouble
// first, then by size.
std::vector<GroupProgress> group_progress(
    const std::vector<GroupsOfRank>& ranks);

}  // namespace hangdbg
