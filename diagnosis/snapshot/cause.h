// Cause: why one thread makes no progress, with evidence and next steps: what a
// rule finds, and what `hangdbg diagnose` reports.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/snapshot/cause_id.h"

namespace hangdbg {

struct ThreadId {
  int pid = 0;
  int tid = 0;
  auto operator<=>(const ThreadId&) const = default;
};

// The progress of a thread, from the best to the worst.
enum class Progress {
  Running,
  Idle,     // by design: waits for work or clients, as pools and servers do
  Polling,  // polls: checks again and again, and sleeps between
  Unknown,  // waits; cause unknown
  Blocked,  // waits for something that may still come
  Stuck,    // nothing that exists can end the wait
};
std::string_view progress_name(Progress progress);  // "stuck"

enum class Confidence { Possible, Likely, Certain };
std::string_view confidence_name(Confidence confidence);  // "likely"

// A command to type, and its purpose.
struct NextStep {
  std::string command;
  std::string why;
};

// A thread was watched, and did not return from that function: it has waited
// for at least that long.
struct Watched {
  std::string function;
  double seconds = 0;
  bool enough = false;  // to count as hung
};

struct Cause {
  CauseId id = CauseId::Unknown;
  Progress progress = Progress::Blocked;
  Confidence confidence = Confidence::Likely;
  // What the thread does: "waits for the lock file /tmp/lock, 2 d old, ...". It
  // has the target's own names: the printer escapes it, like all text here.
  std::string summary;
  std::vector<std::string> evidence = {};
  std::vector<NextStep> next = {};
  std::vector<ThreadId> blocked_by = {};  // if known
  bool any_unblocks = false;              // any one of them can end the wait
  // Its summary names a process that can, by which of its threads is not known.
  bool by_some_thread = false;
  // It is about the tasks of an event loop, and tells more than the function in
  // which the loop waits.
  bool of_tasks = false;
  // It tries again and again, and may give up before it gets what it waits for.
  bool may_give_up = false;
  // They hold what this thread wants, and keep it while they are idle.
  bool blocks_others = false;
  // How long it has waited, where its thread's own sleep does not tell.
  std::optional<double> waited_s = {};
  std::optional<Watched> watched = {};
  double timeout_scale = 1;  // of the time after which it counts as hung
};

}  // namespace hangdbg
