// Whether a thread's system call comes back by itself some time.
#pragma once

#include "inspector/diagnosis/case.h"

namespace hangdbg {

// A futex that is given a time to wake at (futex(2)).
bool wakes_by_itself(const CaseThread& thread);

}  // namespace hangdbg
