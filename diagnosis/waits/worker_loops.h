// Threads that rest: in a loop of a library that waits for work, for as long as
// there is none.
#pragma once

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

// The frame of that loop, if all that it has called is waiting; else null.
const PythonFrame* worker_loop(const ThreadSnapshot& thread);
inline bool is_idle_loop(const ThreadSnapshot& thread) {
  return worker_loop(thread) != nullptr;
}

}  // namespace hangdbg
