// Whether threads of the program may run the agent's code, in which they stop:
// at a breakpoint, a step, or as they are suspended. Our own threads have the
// seccomp filter of the thread that was borrowed; a thread of the program's may
// have one of its own, which would end the process for what ours do.
#pragma once

#include "base/deadline.h"
#include "base/result.h"
#include "injector/checks/preflight.h"
#include "tracee/ptrace/traced_thread.h"

namespace hangdbg {

// Any of them, since any may come to a breakpoint. A thread with another number
// of filters than ours is stopped to read them; filters are only ever added, so
// one with the same number is taken to have the same. Errors: SeccompForbids,
// SeccompUnknown, naming the thread.
Status check_stops(const AttachTarget& target, Deadline deadline);

// That one, which is stopped. Errors: the same.
Status check_stop(const AttachTarget& target, TracedThread& thread);

}  // namespace hangdbg
