// StopBudget: how long threads of a job's ranks may stand, all together. The
// other ranks wait for these, and their collectives die of it some time. So it
// begins when the first comes to stand, and is over when none does and nobody
// is left in a collective that began meanwhile: a rank that goes on and stops
// again before it has come there has the rest of the time.
//
// Who follows the ranks tells their agents what comes out here, so that a
// thread goes on also when nobody does anything any more.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <vector>

#include "base/deadline.h"
#include "server/rank_breakpoints/original_timeouts.h"

namespace hangdbg {

class StopBudget {
 public:
  // What the agent of a process is to be told: so long its threads may stand.
  struct Limit {
    int pid;
    std::chrono::milliseconds left;
  };

  explicit StopBudget(std::chrono::milliseconds longest) : longest_(longest) {}

  // A process in which threads may come to stand from now on. Nothing: it is
  // known.
  std::optional<Limit> watch(int pid);
  // One that is attached anew.
  void forget(int pid);
  // One that could not be told the last limit.
  void missed(int pid) { told_.erase(pid); }

  // Who stands now; to be said again and again.
  std::vector<Limit> follow(const std::set<int>& standing);

  // Whether all ranks are to be asked how far they are, for left(). After that,
  // `asked`.
  enum class Ask { Nothing, Begin, Look };
  Ask wants() const;
  CollectivesWithOriginalTimeout& left();
  std::vector<Limit> asked();

  // It is to end so soon; whether it would not have before.
  bool shorten(std::chrono::milliseconds left);

  // Nothing: none stands.
  std::optional<Deadline> end() const { return end_; }

 private:
  std::chrono::milliseconds longest_;
  std::optional<Deadline> end_;
  bool stands_ = false;
  std::set<int> watched_;
  std::set<int> told_;  // of them, when it ends
  // Since none stands: the collectives in which somebody may wait.
  std::optional<CollectivesWithOriginalTimeout> left_;
  Deadline next_look_ = Deadline::in({});
};

}  // namespace hangdbg
