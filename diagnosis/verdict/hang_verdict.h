// Whether a process hangs, from what was seen of it. Never a guess from one
// look: either the kernel says since when its thread has not run, or it came
// back to one line in each of several looks (docs/decisions/0030).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "inspector/cpython/stacks/python_stack.h"
#include "tracee/proc/wait_look.h"

namespace hangdbg {

// One look at the thread that a person would want to see.
struct Sight {
  std::chrono::steady_clock::time_point at;
  WaitLook wait;
  std::vector<PythonFrame> frames;  // its innermost
  std::optional<int> gil_holder;    // another thread, which has the GIL
};

struct Evidence {
  std::vector<Sight> sights;  // at least one
  std::string file;           // to which the call's descriptor leads
  // Beside a main thread that merely waits for others: since when none of those
  // in the program's own code has run, and whether one waits for the outside.
  std::optional<double> others_still_s;
  bool others_serve = false;
  bool has_children = false;  // that run Python
  bool child_of_python = false;
};

struct Verdict {
  std::string state;  // "asleep", "loops", "runs", "stopped", "traced", "disk",
                      // "ended"
  bool hung = false;
  std::string waits;                // "futex at file_baton.py:42 in wait"
  std::optional<double> waiting_s;  // has not run since; empty when unknown
  bool one_line = false;  // it runs, at the same line whenever it is looked at
};

// Asleep for `hung_after_s` counts as hung, unless what it waits for is what
// idle programs wait for: a connection, a child, their input, the time.
Verdict judge(const Evidence& evidence, double hung_after_s);

// Whether one look is not enough: it has run a moment ago. kLooks are, if they
// are a moment apart.
bool wants_more(const WaitLook& wait);
constexpr std::size_t kLooks = 5;

}  // namespace hangdbg
