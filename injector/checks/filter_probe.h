// The calls of target_calls(), tried under our own seccomp filter by a child of
// ours that may die of it.
#pragma once

#include <vector>

#include "tracee/ptrace/seccomp_filter.h"

namespace hangdbg {

// One verdict a call. Tried once: our own filter does not change.
const std::vector<CallVerdict>& tried_calls();

}  // namespace hangdbg
