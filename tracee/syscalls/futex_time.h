// For how long a thread may still sleep in a futex.
#pragma once

#include <optional>

#include "tracee/memory/memory.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {

struct FutexTime {
  double seconds = 0;        // below 0: its time is over
  bool is_a_moment = false;  // counted from now, and not from when it began
};

// Of a FUTEX_WAIT, FUTEX_WAIT_BITSET or their like with a time limit, as in
// futex(2): most have a moment of one of two clocks. Empty where that cannot be
// compared with the clock here: `pid` is empty (it is no more) or has a
// monotonic clock of its own (time_namespaces(7)).
std::optional<FutexTime> futex_time_left(std::optional<int> pid,
                                         const MemoryReader& memory,
                                         const TaskSyscall& call);

}  // namespace hangdbg
