// The stacks of a job's ranks over a time: which moved, which did not, and the
// share of it that each was at a place. Of their main threads.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/terminal/render.h"
#include "client/views/record/formats.h"
#include "protocol/reports/record_over.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {

// How often each main thread has run, before and after: equal if it has not.
struct RankRuns {
  std::optional<SchedStats> before, after;
};
std::map<int, std::optional<SchedStats>> runs_of_ranks(
    const std::map<int, int>& ranks);  // by pid

// What a rank did.
enum class RankMotion {
  DidNotRun,  // proved: its counters are the same
  OnePlace,   // it ran, and was at one line at each sample
  Moved,
  Unseen,  // no sample
};

struct RankOverTime {
  int rank = 0;
  RankMotion motion = RankMotion::Unseen;
  std::uint32_t node = Profile::kRoot;  // the last one it was at
  std::uint64_t samples = 0;
};

// Needs a profile that keeps the order, with blocked threads.
std::vector<RankOverTime> ranks_over_time(const RecordedProfile& recorded,
                                          const std::map<int, RankRuns>& runs);

std::string over_time_text(const RecordedProfile& recorded,
                           const std::map<int, RankRuns>& runs,
                           const Palette& palette);

reports::RecordOver over_time_report(const RecordedProfile& recorded,
                                     const std::map<int, RankRuns>& runs);

}  // namespace hangdbg
