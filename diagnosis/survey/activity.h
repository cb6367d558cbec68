// What a process's thread is doing, from its samples: it sleeps, runs, or loops
// at one line. diagnose.h tells whether it hangs.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "inspector/cpython/stacks/python_stack.h"
#include "tracee/proc/wait_sample.h"

namespace hangdbg {

// One sample of the thread to show.
struct Sample {
  std::chrono::steady_clock::time_point at;
  WaitSample wait;
  std::vector<PythonFrame> frames;  // its innermost
  std::optional<int> gil_holder;    // another thread, which holds the GIL
};

struct Observed {
  std::vector<Sample> samples;  // at least one
  std::string file;             // what the call's descriptor leads to
};

struct Activity {
  std::string state;  // "asleep", "loops", "runs", "stopped", "traced", "disk",
                      // "ended"
  std::string waits;  // "futex at file_baton.py:42 in wait"
  std::optional<double> waiting_s;  // has not run since; empty when unknown
  bool one_line = false;            // it runs, at the same line in all samples
};

Activity activity_of(const Observed& observed);

// Whether one sample is not enough: it has just run. kSamples are enough, a
// moment apart.
bool wants_more(const WaitSample& wait);
constexpr std::size_t kSamples = 5;

}  // namespace hangdbg
