// Whether the threads of a process wait only for each other: then none of them
// resumes by itself, whatever each holds.
#pragma once

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

// It sleeps without a limit until another thread of Python in its process ends
// that: a lock, a Condition and what is made of one, a join, a queue of its
// pool. False also if that is unknown.
bool waits_inside(const ProcessSnapshot& of, const ThreadSnapshot& thread);

// A library's thread, without Python, waits for data of other processes, as in
// c-ares and Ray: it may run Python then.
bool hears_from_others(const ProcessSnapshot& of);

// All threads of Python do, there are several, and no other process wakes one.
// A signal handler may still end it.
bool only_wait_for_each_other(const ProcessSnapshot& of);

// Another thread of the process runs, or waits for a CPU: also one that was
// just started, and is no Python thread yet.
bool runs_beside(const ProcessSnapshot& of, const ThreadSnapshot& thread);

}  // namespace hangdbg
