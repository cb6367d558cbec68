// A trace from its begin to its end: the tracer on a thread of its own, and
// main, which writes what was seen and handles Ctrl-C.
//
// Main blocks the signals that would end or stop us (also Ctrl-Z: a stopped
// tracer holds up what it traces) and takes them from a descriptor. When
// the tracer's thread has ended, nothing is traced any more. Should it be held
// up, by a process whose memory cannot be read just now, main ends us: that is
// no worse.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "base/deadline.h"
#include "base/result.h"
#include "client/views/trace/output.h"
#include "client/views/trace/recorder.h"

namespace hangdbg {

struct TraceSession {
  int pid = 0;
  bool children = false;
  Deadline attach_by;
  std::function<Status()> prepare = {};  // before it, on the tracer's thread
  std::function<void()> on_attached = {};
  std::optional<std::chrono::steady_clock::duration> lasts = {};  // since then
};

enum class TraceEnd {
  Done,         // as long, or as many, as was asked for; or all have ended
  Interrupted,  // Ctrl-C
};

// Returns when all is written. Errors: those of `prepare`,
// SyscallTracer::attach and TraceOutput::write; TimedOut.
Result<TraceEnd> run_trace(const TraceSession& session,
                           Recorder& recorder,
                           TraceView& view,
                           TraceOutput& output);

// Ends the one that runs; from any thread.
void stop_trace();

}  // namespace hangdbg
