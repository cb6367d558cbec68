// Whether the threads of a process wait for each other alone: then none of them
// goes on by itself, whoever has what.
#pragma once

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

// It sleeps without a limit in what another thread of Python in its process has
// to end: a lock, a Condition and what is made of one, a join, a queue of its
// pool. False also where that cannot be told.
bool waits_inside(const ProcessSnapshot& of, const ThreadSnapshot& thread);

// A library's thread, without Python, waits for what other processes send, as
// c-ares and Ray have one: it may run Python then.
bool hears_from_others(const ProcessSnapshot& of);

// All threads of Python do, there are several, and nothing comes from others. A
// handler of a signal may end it all the same.
bool only_wait_for_each_other(const ProcessSnapshot& of);

// Another thread of the process has a CPU, or waits for one: also one that has
// just been started, and is no Python thread yet.
bool runs_beside(const ProcessSnapshot& of, const ThreadSnapshot& thread);

}  // namespace hangdbg
