// The collectives of a job that still have the timeout with which they began.
//
// A collective takes the timeout of its group when it begins, on each rank for
// itself. The ranks count a group's collectives as they begin them: once each
// has begun as many as any had when all timeouts had been raised, no old one
// can wait for a rank that is held. (torch: ProcessGroup.hpp,
// getSequenceNumberForGroup.)
//
// gloo counts what a rank sends and receives as well, and so do some of NCCL's:
// in such a group the numbers of the ranks keep apart, and are not compared.
// And a rank that was in a call of torch.distributed is waited for until it has
// come out of it, or begun another.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "inspector/ranks/rank_set.h"
#include "protocol/requests/process_groups.h"

namespace hangdbg {

struct OldCollective {
  std::string group;  // "group 0", or the function that a rank is in
  std::int64_t number = 0;
  RankSet inside;   // they have begun it
  RankSet awaited;  // they have not; empty: unknown
  std::chrono::milliseconds timeout{};
};

class CollectivesWithOriginalTimeout {
 public:
  // Collectives that are begun one behind the other, and waited for together:
  // the buckets of a large model's gradients are some dozens.
  static constexpr std::int64_t kMostApart = 200;

  // What a rank says after the timeouts of all were raised.
  void begin(int rank, const dap::ProcessGroups::Body& groups);
  // What it says later.
  void look(int rank, const dap::ProcessGroups::Body& groups);

  // Those that are not over. Empty: breakpoints may go live.
  std::vector<OldCollective> pending() const;

  // Of a group whose ranks count differently: its name. Empty: none.
  std::string apart() const;

 private:
  using Key = std::tuple<std::string, std::string, std::vector<std::int64_t>>;
  struct Group {
    std::int64_t begun = 0;  // by the farthest, at the raise
    std::chrono::milliseconds timeout{};
    std::map<int, std::int64_t> now;  // of each rank
  };
  static bool is_apart(const Group& group);

  struct Call {
    std::string function;
    std::int64_t begun = 0;  // by that rank, in all groups
  };
  std::map<Key, Group> groups_;
  std::map<int, Call> calls_;  // of those that were in one
};

// What keeps the timeout that it has, so that no rank may be held for longer
// than that: a line for a person, empty if nothing does. Of one rank.
std::string unraised(const dap::ProcessGroups::Body& groups);

// The function in which a thread of the rank sends to or waits for one other
// rank, if that has gloo's fixed timeout; else empty.
std::string with_fixed_timeout(const dap::ProcessGroups::Body& groups);

}  // namespace hangdbg
