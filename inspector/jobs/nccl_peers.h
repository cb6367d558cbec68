// The hosts of a whole job as NCCL keeps them in each of its ranks, for its RAS
// (NCCL 2.24 on): read from the rank's memory. RAS itself is not asked: that
// has ended jobs (NVIDIA/nccl#1669 and others).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hangdbg {

// Addresses, each once, ascending. Empty: no NCCL is loaded, it has no such
// list, or the list is not proved to be what it should be. Errors: those of
// read_maps.
Result<std::vector<std::string>> nccl_hosts(int pid);

}  // namespace hangdbg
