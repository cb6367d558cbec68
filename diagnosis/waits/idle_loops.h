// Threads that rest: in a loop of a library that waits for work, for as long as
// there is none.
#pragma once

#include "diagnosis/snapshot/case.h"

namespace hangdbg {

// The frame of that loop, if all that it has called is waiting; else null.
const PythonFrame* idle_loop(const CaseThread& thread);
inline bool is_idle_loop(const CaseThread& thread) {
  return idle_loop(thread) != nullptr;
}

}  // namespace hangdbg
