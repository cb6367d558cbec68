// Resource usage and pending signals of a process: what only the host context
// needs of /proc/PID/status.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace hangdbg {

struct ProcUsage {
  std::uint64_t pending = 0;         // signals, for its main thread
  std::uint64_t shared_pending = 0;  // for whichever thread; bit N-1: signal N
  std::uint64_t resident_kib = 0;
  std::uint64_t swapped_kib = 0;
};

// Errors: those of read_proc_file.
Result<ProcUsage> read_usage(int pid);
ProcUsage parse_usage(std::string_view status);

}  // namespace hangdbg
