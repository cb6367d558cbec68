// What a process may use at most: /proc/PID/limits (getrlimit(2)).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace hangdbg {

// Soft limits; none: no limit.
struct ProcLimits {
  std::optional<std::uint64_t> open_files;     // RLIMIT_NOFILE
  std::optional<std::uint64_t> processes;      // RLIMIT_NPROC, of its user
  std::optional<std::uint64_t> file_size;      // RLIMIT_FSIZE, bytes
  std::optional<std::uint64_t> address_space;  // RLIMIT_AS, bytes
  std::optional<std::uint64_t> locked_memory;  // RLIMIT_MEMLOCK, bytes
  std::optional<std::uint64_t> stack;          // RLIMIT_STACK, bytes
};

// Errors: those of read_proc_file.
Result<ProcLimits> read_limits(int pid);
ProcLimits parse_limits(std::string_view text);

}  // namespace hangdbg
