// Cause: why one thread does not go on, with what shows it and what to do. What
// a rule finds, and what `hangdbg diagnose` says.
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

// What can be said of a thread, from the best to the worst.
enum class Progress {
  Running,
  Idle,     // by design: waits for what may come, as servers and pools do
  Polling,  // looks again and again whether something has come, and sleeps
  Unknown,  // waits; cause unknown
  Blocked,  // waits for what somebody may do: whether that is a hang is open
  Stuck,    // nothing that exists can end the wait
};
std::string_view progress_name(Progress progress);  // "stuck"

enum class Confidence { Possible, Likely, Certain };
std::string_view confidence_name(Confidence confidence);  // "likely"

// A command to type, and what for.
struct NextStep {
  std::string command;
  std::string why;
};

// A thread was watched, and did not come back from that function: it has waited
// for longer than that.
struct Watched {
  std::string function;
  double seconds = 0;
  bool enough = false;  // to call it hung
};

struct Cause {
  CauseId id = CauseId::Unknown;
  Progress progress = Progress::Blocked;
  Confidence confidence = Confidence::Likely;
  // What the thread does: "waits for the lock file /tmp/lock, 2 d old, ...".
  // As the target names things: whoever prints it makes it safe, and all text
  // here.
  std::string summary;
  std::vector<std::string> evidence = {};
  std::vector<NextStep> next = {};
  std::vector<ThreadId> blocked_by = {};  // if that is known
  bool any_unblocks = false;              // any one of them can end the wait
  // It is what the tasks of an event loop are at: more than can be said of the
  // function in which the loop waits.
  bool of_tasks = false;
  // It asks again and again, and may stop that for another reason than that it
  // has got what it waits for.
  bool may_give_up = false;
  // They hold what this thread wants, and keep it while they are idle.
  bool blocks_others = false;
  // So long it has waited, where its thread's own sleep does not say.
  std::optional<double> waited_s = {};
  std::optional<Watched> watched = {};
  double timeout_scale = 1;  // of the time after which it counts as hung
};

}  // namespace hangdbg
