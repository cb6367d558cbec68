// What a process's thread is doing, from what was seen of it: it sleeps, runs,
// comes back to one line again and again. Whether it hangs is not told here but
// by diagnose.h.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "inspector/cpython/stacks/python_stack.h"
#include "tracee/proc/wait_sample.h"

namespace hangdbg {

// The thread that a person would want to see, at one moment.
struct Sample {
  std::chrono::steady_clock::time_point at;
  WaitSample wait;
  std::vector<PythonFrame> frames;  // its innermost
  std::optional<int> gil_holder;    // another thread, which has the GIL
};

struct Observed {
  std::vector<Sample> samples;  // at least one
  std::string file;             // to which the call's descriptor leads
};

struct Activity {
  std::string state;  // "asleep", "loops", "runs", "stopped", "traced", "disk",
                      // "ended"
  std::string waits;  // "futex at file_baton.py:42 in wait"
  std::optional<double> waiting_s;  // has not run since; empty when unknown
  bool one_line = false;  // it runs, at the same line whenever it is looked at
};

Activity activity_of(const Observed& observed);

// Whether one sample is not enough: it has run a moment ago. kSamples are, if
// they are a moment apart.
bool wants_more(const WaitSample& wait);
constexpr std::size_t kSamples = 5;

}  // namespace hangdbg
