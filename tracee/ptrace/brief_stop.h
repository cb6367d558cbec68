// A thread stopped for as long as it takes to read a few words of it.
#pragma once

#include <chrono>
#include <functional>

#include "base/result.h"
#include "tracee/ptrace/traced_thread.h"

namespace hangdbg {

// Stops the thread, calls `read`, and resumes the thread. How long it was
// stopped: no longer than this. One without a CPU stops when it gets one; as
// long as it does not run, it is not held up.
//
// On a tracer thread (run_as_tracer). After TimedOut that thread of ours must
// end at once: only then does the kernel release what has not stopped.
// Errors: those of TracedThread, and of `read`.
Result<std::chrono::nanoseconds> while_stopped(
    int tid,
    std::chrono::nanoseconds patience,
    const std::function<Status(const TracedThread&)>& read);

// While a thread is stopped by us, no other thread should run in our place, if
// we may ask for that (CAP_SYS_NICE; setpriority(2) is of the calling thread
// and of those that it starts).
class Urgent {
 public:
  Urgent();
  ~Urgent();
  Urgent(const Urgent&) = delete;
  Urgent& operator=(const Urgent&) = delete;

 private:
  int before_;
};

}  // namespace hangdbg
