// Why threads that are recorded do not run.
//
// What a system call waits for takes longer to find out than a sample: another
// thread does that, meanwhile. A reason belongs to one sleep, which counters
// of the thread tell from all others: it counts for that one's samples alone.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "tracee/proc/proc_tasks.h"

namespace hangdbg {

class WaitReasons {
 public:
  // ---- the thread that finds them out
  // Those of which threads sleep for a reason that is not known, each once.
  std::set<int> take_wanted();
  // `since`: its counters, before the thread was looked at and after that.
  void tell(int tid, const SchedStats& since, std::string reason);
  void forget(int tid);

  // ---- the sampler
  void want(int pid);
  std::optional<std::string> of(int tid, const SchedStats& since) const;

 private:
  struct Told {
    SchedStats since;
    std::string reason;
  };
  mutable std::mutex mutex_;
  std::set<int> wanted_;
  std::map<int, Told> told_;
};

// As far as one sample can tell: "waits in read, 5 = pipe:[4242]".
std::string call_reason(int pid, const TaskSyscall& call);

}  // namespace hangdbg
