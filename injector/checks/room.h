// Whether a process has room for what an attach takes of it for a while:
// memory, mappings, threads, descriptors. Known before anything is taken: a
// program that lives at its limits must not fail, or be killed by the kernel,
// because we were there.
#pragma once

#include <vector>

#include "base/result.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {

// What is to be left, ours included. Errors: NoRoom, which names the limit.
Status check_room(int pid,
                  const ProcStatus& status,
                  const std::vector<Mapping>& maps);

}  // namespace hangdbg
