// StopBudget: how long threads of a job's ranks may be suspended, all together.
// The other ranks wait for these, and their collectives fail some time. So it
// begins when the first is suspended, and is over when none is and no rank is
// left in a collective that began meanwhile: a rank that resumes and stops
// again before that has the rest of the time.
//
// The caller follows the ranks and tells their agents the result, so that a
// thread resumes even if the caller does nothing any more.
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
  // For the agent of a process: how long its threads may be suspended.
  struct Limit {
    int pid;
    std::chrono::milliseconds left;
  };

  explicit StopBudget(std::chrono::milliseconds longest) : longest_(longest) {}

  // A process in which threads may be suspended from now on. Nothing: it is
  // known.
  std::optional<Limit> watch(int pid);
  // One that is attached anew.
  void forget(int pid);
  // One that could not be told the last limit.
  void missed(int pid) { told_.erase(pid); }

  // `standing`: processes with suspended threads; to be called again and again.
  std::vector<Limit> follow(const std::set<int>& standing);

  // Whether to query the progress of all ranks, for left(). After that,
  // `asked`.
  enum class Ask { Nothing, Begin, Look };
  Ask wants() const;
  CollectivesWithOriginalTimeout& left();
  std::vector<Limit> asked();

  // It is to end so soon; whether it would not have before.
  bool shorten(std::chrono::milliseconds left);

  // Nothing: none is suspended.
  std::optional<Deadline> end() const { return end_; }

 private:
  std::chrono::milliseconds longest_;
  std::optional<Deadline> end_;
  bool stands_ = false;
  std::set<int> watched_;
  std::set<int> told_;  // of them, when it ends
  // Since none is suspended: the collectives in which a rank may wait.
  std::optional<CollectivesWithOriginalTimeout> left_;
  Deadline next_look_ = Deadline::in({});
};

}  // namespace hangdbg
