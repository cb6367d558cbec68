// TimeoutOverride: the ranks' answers to the request to raise the timeouts of
// their process groups, and what follows from that: for how long a rank may be
// held, and what is still under the original timeout.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspector/jobs/jobs.h"
#include "server/rank_breakpoints/original_timeouts.h"

namespace hangdbg {

// How long threads are held at most, by default.
constexpr std::chrono::seconds kHoldFor{600};

class TimeoutOverride {
 public:
  // `machines`: that have ranks of the job. Each keeps its ranks' time for
  // itself.
  explicit TimeoutOverride(std::chrono::milliseconds hold_for, int machines = 1)
      : hold_for_(hold_for), parts_(machines + 1) {}

  // So much longer they are to be: ranks that are held one after the other must
  // not add up.
  std::chrono::milliseconds by() const { return parts_ * hold_for_; }

  // What that rank has said to it.
  void take(int rank, const Result<dap::ProcessGroups::Body>& answer);
  // Those whose timeouts stay, as far as the job itself tells.
  void leave_out(const Job& job);
  void leave_out(int rank, const std::string& why);
  // What it says when all have been asked: one may have begun a collective
  // while the next was raised.
  void look_again(int rank, const dap::ProcessGroups::Body& groups);

  // ---- when all that is done

  // So long a rank may be held: for less than was wanted where timeouts stay.
  std::chrono::milliseconds longest() const;
  const RankSet& raised() const { return raised_; }
  std::map<std::string, RankSet> not_raised() const;  // why -> ranks
  std::size_t groups() const { return groups_; }  // of the rank that has most
  // What was done, a line each.
  std::vector<std::string> text() const;

  // The collectives that still have the timeout of before.
  CollectivesWithOriginalTimeout& old() { return old_; }

  // While another rank is held: what shortens the time for which that may be. A
  // rank may block in a call whose timeout was not raised, and may make groups
  // that have to be.
  struct Shorter {
    std::chrono::milliseconds time;
    std::string why;
  };
  std::vector<Shorter> shorter(int rank,
                               const dap::ProcessGroups::Body& groups) const;

 private:
  std::chrono::milliseconds hold_for_;
  int parts_;
  CollectivesWithOriginalTimeout old_;
  RankSet raised_;
  std::map<std::string, RankSet> not_raised_;  // for another reason than apart
  std::size_t groups_ = 0;
  std::optional<std::chrono::milliseconds> shortest_;  // without us
};

// Which rank waits where for which, and what is left of its timeout: a line.
// `pids`: of the ranks. Reads out of process how long they have waited.
std::string describe(const OldCollective& one, const std::map<int, int>& pids);

// "20 s": timeouts are rarely less.
std::string timeout_text(std::chrono::milliseconds time);

}  // namespace hangdbg
