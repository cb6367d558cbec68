// Why a process hangs, if it does: from the thread that a person would look at
// along who waits for whom to the one at the end of it.
//
// Each thread's cause is found by the rules (rules.h). A cause that names who
// is behind it leads to that one's, in other processes too; where the way comes
// back to where it has been, they wait for each other, and that is the cause.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "diagnosis/snapshot/cause.h"
#include "diagnosis/snapshot/system_snapshot.h"

namespace hangdbg {

// One thread on the way, and why it waits.
struct WaitEdge {
  ThreadId id;
  std::string who;    // "thread 12 "worker""
  std::string place;  // "lock.py:42 in wait"
  std::string doing;  // "asleep in futex for 3 min"
  std::optional<double> waiting_s;
  bool naps = false;            // that is of one sleep, perhaps of many
  bool has_time_limit = false;  // that wait ends by itself
  bool has_got_on = false;      // a moment ago, and not for its time was over
  Cause cause;
};

struct Diagnosis {
  int pid = 0;
  std::string title;  // "process 79655 (python train.py)"
  // Of who was asked for: stuck or blocked, where who is behind it is.
  Progress state = Progress::Unknown;
  // It has not got on for `hung_after_s`, and not by design: somebody is to
  // look at it. Stuck or not.
  bool stalled = false;
  // From the thread that was asked for along who waits for whom.
  std::vector<WaitEdge> chain;
  std::size_t root = 0;        // in it: whose cause it is
  std::size_t cycle = 0;       // so many, of which it is the last, are a circle
  Cause cause;                 // the root's, or the circle
  std::vector<WaitEdge> also;  // others that are stalled by themselves
  std::vector<std::string> around;   // what is unusual around it
  std::vector<std::string> skipped;  // what could not be looked at
  // Time was up on the way, or a process's memory did not answer: what was
  // found may not be the cause.
  bool partial = false;

  // Nothing that exists can end its wait.
  bool hung() const { return state == Progress::Stuck; }
  // For how long who was asked for waits. None: that is not known.
  std::optional<double> waiting_s() const;
};

// `hung_after_s`: who waits for so long is stalled, if not for what idle
// programs wait for. Errors: NoSuchProcess, NotPermitted.
Result<Diagnosis> diagnose(SystemSnapshot& system,
                           int pid,
                           double hung_after_s);

// Of one thread, whoever is behind it. None, if it cannot be looked at.
std::optional<WaitEdge> wait_edge_of(SystemSnapshot& system, ThreadId id);

// "process 99 (python3) waits for ...", of the one at the end of the chain; of
// a circle, the whole.
std::string end_of_chain(const Diagnosis& found);
// Who was asked for is that one, or in that circle.
bool is_at_end(const Diagnosis& found);

// What it does, all in one sentence that begins with a verb: what it waits
// for, and who is at the end of that. Of a circle, the whole.
std::string summary_line(const Diagnosis& found);

}  // namespace hangdbg
