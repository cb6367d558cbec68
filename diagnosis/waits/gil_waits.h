// Who waits for the GIL.
#pragma once

#include "diagnosis/snapshot/case.h"

namespace hangdbg {

// While another thread has it, as far as could be seen.
bool waits_for_gil(const Case& of, const CaseThread& thread);

}  // namespace hangdbg
