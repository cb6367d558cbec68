// Why a process hangs, if it does: the wait chain from its most relevant
// thread to the root.
//
// The rules find each thread's cause (rules.h). A cause that names its blockers
// leads to theirs, in other processes too; where the chain returns to one of
// its links, that deadlock cycle is the cause.
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

// One link of the chain: a thread, and why it waits.
struct WaitEdge {
  ThreadId id;
  std::string who;    // "thread 12 "worker""
  std::string place;  // "lock.py:42 in wait"
  std::string doing;  // "asleep in futex for 3 min"
  std::optional<double> waiting_s;
  std::optional<double> about_waiting_s;  // where waiting_s is not known
  bool naps = false;            // that is of one sleep, perhaps of many
  bool has_time_limit = false;  // that wait ends by itself
  bool has_got_on = false;      // made progress recently, not by a timeout
  Cause cause;
};

struct Diagnosis {
  int pid = 0;
  std::string title;  // "process 79655 (python train.py)"
  // Of the process itself: stuck or blocked if its blocker is.
  Progress state = Progress::Unknown;
  // No progress for `hung_after_s`, and not by design: it needs attention,
  // stuck or not.
  bool stalled = false;
  // From the diagnosed thread along its blockers.
  std::vector<WaitEdge> chain;
  std::size_t root = 0;              // index in `chain` of the cause
  std::size_t cycle = 0;             // length of the cycle that ends the chain
  bool turns = false;                // they would be one, but one got on
  Cause cause;                       // the root's, or the deadlock cycle
  std::vector<WaitEdge> also;        // others that are stalled by themselves
  std::vector<std::string> around;   // what is unusual on its host
  std::vector<std::string> skipped;  // what could not be inspected
  // Time ran out, or a process's memory did not answer: the cause that was
  // found may be wrong.
  bool partial = false;

  // Nothing that exists can end its wait.
  bool hung() const { return state == Progress::Stuck; }
  // How long the process has waited. None: unknown.
  std::optional<double> waiting_s() const;
};

// `hung_after_s`: a longer wait is stalled, except an idle program's. Errors:
// NoSuchProcess, NotPermitted.
Result<Diagnosis> diagnose(SystemSnapshot& system,
                           int pid,
                           double hung_after_s);

// Of one thread, whatever blocks it. None: it cannot be inspected.
std::optional<WaitEdge> wait_edge_of(SystemSnapshot& system, ThreadId id);

// "process 99 (python3) waits for ...": the root of the chain; of a deadlock
// cycle, all of it.
std::string end_of_chain(const Diagnosis& found);
// The process itself is the root, or is in the cycle.
bool is_at_end(const Diagnosis& found);

// One sentence that begins with a verb: what it waits for, and the root of
// that. Of a deadlock cycle, all of it.
std::string summary_line(const Diagnosis& found);

}  // namespace hangdbg
