// `top` from its first frame to its last: the recording, the screen, keys,
// signals, and the programs that `d` and `a` start.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/terminal/render.h"
#include "client/views/record/session.h"
#include "client/views/top/state.h"

namespace hangdbg {

struct TopSession {
  std::vector<RecordedTarget> targets;
  bool children = false;
  std::string title;
  RecordingOptions recording;  // `sampling` by top_sampling()
  std::chrono::nanoseconds delay = std::chrono::seconds(1);
  ColourChoice colour = ColourChoice::Auto;
};

// What top needs of each sample.
SamplingOptions top_sampling(bool idle, bool gil, bool tasks);

// Until q, a signal, or the end of all processes. Returns the exit code.
// Errors: Usage; of the only target that cannot be read, why.
Result<int> run_top(const TopSession& session);

// For one delay, or until a signal.
Result<TopData> sample_once(const TopSession& session);

}  // namespace hangdbg
