// Whether a thread waits for the GIL.
#pragma once

#include "inspector/cpython/runtime/gil.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {

// In that call. The GIL's condition tells it: of glibc's the futex is in it, of
// musl's in a list that begins there, on the waiting threads' stacks.
bool is_wait_for_gil(const MemoryReader& memory,
                     const GilState& gil,
                     const TaskSyscall& call);

}  // namespace hangdbg
