// One injection into a target at a time, so that it never gets two agents.
//
// flock(2) on the target's own /proc/PID/stat: no file of ours anywhere, and
// the kernel releases it when we die. Hangdbgs that see different /proc
// mounts do not see each other; then the kernel's "one tracer" does the rest.
#pragma once

#include "base/deadline.h"
#include "base/fd.h"
#include "base/result.h"

namespace hangdbg {

// Held until the Fd is closed. Errors: TimedOut, NoSuchProcess.
Result<Fd> lock_injections(int pid, Deadline deadline);

}  // namespace hangdbg
