// Processes that Python's multiprocessing has started, told by their stacks:
// whose worker one is, and which rank it is of those that torch's mp.spawn has
// started, before it has said so in its environment, or where it never does.
#pragma once

#include <optional>

#include "inspector/ranks/rank_identity.h"
#include "tracee/program/environment.h"

namespace hangdbg {

// Whether multiprocessing runs it, and not torch's way to start ranks by that.
bool is_worker(int pid);

// Whether multiprocessing has started it as a new interpreter.
bool is_spawned(int pid);

// Whether it may be one of mp.spawn's, which is cheap to say.
bool may_be_spawned(int pid, const Environment& environment);

// Its number there. What the environment has told of a place to meet is its
// job; else that has no name yet.
std::optional<RankIdentity> spawned_rank(int pid,
                                         int parent,
                                         const Environment& environment);

}  // namespace hangdbg
