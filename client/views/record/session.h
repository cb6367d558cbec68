// A recording from its begin to its end: the thread that finds processes, the
// sampler, and main, which shows the progress and handles Ctrl-C.
//
// Main blocks the signals that would end or stop us (also Ctrl-Z: a stopped
// sampler may hold up what it has stopped) and takes them from a
// descriptor. Should the sampler be held up at the end, by a process whose
// memory cannot be read just now, main writes what there is and ends us.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "client/terminal/render.h"
#include "profiler/sampling/recording.h"

namespace hangdbg {

struct RecordedTarget {
  int pid = 0;
  std::string label;  // "rank 3"; "": of its command line
};

struct RecordSession {
  std::vector<RecordedTarget> targets;
  std::span<char*> command;  // or this one is started
  bool children = false;
  std::optional<std::chrono::nanoseconds> lasts = {};
  bool progress = false;  // on stderr, while it runs
};

// Starts it, waits until it is over, and calls `finish` with what there is: its
// exit code is ours. Where a command was started and has ended, and `finish`
// returns 0, the exit code is the command's. Errors: Usage, where it cannot be
// started; of the only target that cannot be read, why.
Result<int> run_recording(
    const RecordSession& session,
    const RecordingOptions& options,
    const std::function<int(Recording& recording)>& finish);

}  // namespace hangdbg
