// Whether the kernel lets a thread start another one. Some have asked it for
// what no thread can share, each for itself alone: then another is borrowed.
#pragma once

#include "base/result.h"

namespace hangdbg {

// Errors: NoSafeThread, with what the thread has asked for.
Status check_starts_threads(int pid, int tid);

}  // namespace hangdbg
