// AtRest: whether the threads of a target stand where they stood, and have done
// so for a while: then to try again later finds nothing new.
#pragma once

#include <map>
#include <optional>

#include "base/deadline.h"
#include "tracee/proc/wait_sample.h"

namespace hangdbg {

class AtRest {
 public:
  explicit AtRest(int pid) : pid_(pid) {}

  // Before that thread is stopped, which may end its sleep.
  void before_stop(int tid, const std::optional<WaitSample>& wait);

  // When a try has failed: in which call each thread sleeps. Not before: most
  // tries do not fail, and a program may have many threads.
  void look();

  // Whether all have slept for a second, and are in the same calls now.
  bool is_still_so() const;

 private:
  using Calls = std::map<int, TaskSyscall>;

  std::optional<WaitSample> before(int tid) const;

  int pid_;
  std::map<int, std::optional<WaitSample>> stopped_;  // as they were before
  std::optional<Calls> calls_;  // empty: not all are asleep
  Deadline while_over_ = Deadline::in({});
};

}  // namespace hangdbg
