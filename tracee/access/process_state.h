// Whether a process is in a state in which a thread of it can be stopped for a
// moment: read only from the kernel, and without touching the process.
#pragma once

#include "base/result.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {

// Errors: Zombie, Stopped, DiskSleep, InVfork, InExec, KernelThread.
Status check_state(int pid, const ProcStatus& status);

// Errors: InVfork, of the child: what is started in it runs in its parent's
// memory, and ends when the child runs a program.
Status check_own_memory(int pid, const ProcStatus& status);

// Errors: TracedAlready.
Status check_tracer(int pid, const ProcStatus& status);

// Errors: Frozen, with the group that is to be thawed.
Status check_frozen(int pid);

}  // namespace hangdbg
