// Who waits for the GIL.
#pragma once

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

// While another thread has it, as far as could be seen.
bool waits_for_gil(const ProcessSnapshot& of, const ThreadSnapshot& thread);

}  // namespace hangdbg
