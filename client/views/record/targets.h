// Which processes a recording samples at the moment: those that were named, and
// where it is asked for their children, as they come and go.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "client/views/record/session.h"
#include "profiler/sampling/recording.h"

namespace hangdbg {

class RecordTargets {
 public:
  RecordTargets(Recording& recording,
                const std::vector<RecordedTarget>& targets,
                bool children,
                const SamplingOptions& sampling);

  // Opens those that are not sampled yet, and forgets those that have ended.
  void look();
  bool all_have_ended() const { return wanted_.empty(); }
  bool any_was_opened() const { return opened_; }
  // Of the last one that could not be opened.
  const std::optional<Error>& error() const { return error_; }

 private:
  struct Wanted {
    std::string label;
    int failures = 0;
    Deadline again = Deadline::in({});
  };
  void find_children();
  Status open(int pid, const std::string& label);

  Recording& recording_;
  bool children_;
  SamplingOptions sampling_;
  std::map<int, Wanted> wanted_;
  Deadline next_children_ = Deadline::in({});
  bool opened_ = false;
  std::optional<Error> error_;
};

}  // namespace hangdbg
