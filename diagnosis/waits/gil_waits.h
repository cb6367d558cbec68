// Threads that wait for the GIL.
#pragma once

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

// While another thread holds it, as far as known.
bool waits_for_gil(const ProcessSnapshot& of, const ThreadSnapshot& thread);

}  // namespace hangdbg
