// What was seen up to now and in the last seconds: copies of a recording's
// counts, taken at each refresh, so that nothing holds its lock while a frame
// is made.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "profiler/sampling/recording.h"

namespace hangdbg {

struct TopData {
  std::vector<ProfilePlace> places;
  std::vector<ProfileNode> nodes;     // `own`: since the beginning
  std::vector<std::uint64_t> recent;  // of each node: own in the last seconds
  std::vector<ProfiledThread> threads;
  std::vector<ThreadTally> tallies;         // since the beginning
  std::vector<ThreadTally> recent_tallies;  // of the last seconds: the sums
  std::map<int, std::string> waits;         // by tid: what it waits for
  std::vector<int> pids;                    // that are there now
  RecordingState state;
  std::chrono::nanoseconds window{};  // of the last seconds
  double rate = 100;                  // Hz: a unit is its period
  bool tasks = false;                 // asyncio's are recorded
};

class TopHistory {
 public:
  // Reads what there is now.
  void take(Recording& recording);
  const TopData& data() const { return data_; }
  void set_waits(std::map<int, std::string> waits) {
    data_.waits = std::move(waits);
  }

 private:
  struct Moment {
    std::chrono::nanoseconds at{};
    std::vector<std::uint64_t> own;
    std::vector<ThreadTally> tallies;
  };
  void subtract(const Moment& before);

  std::deque<Moment> moments_;
  TopData data_;
};

}  // namespace hangdbg
