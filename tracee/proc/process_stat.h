// /proc/PID/stat (proc_pid_stat(5)): what is told of a process as a whole, also
// of one that has ended and is still there. Never blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hangdbg {

struct ProcessStat {
  std::uint64_t cpu_ticks = 0;    // of all threads: user + system
  std::uint64_t start_ticks = 0;  // after boot
  int exit_status =
      0;  // of a zombie, as wait(2) gives it; 0 without permission
};

// Errors: those of read_proc_file; Unreadable.
Result<ProcessStat> read_process_stat(int pid);

// Seconds since the process was started; nothing if that cannot be read.
std::optional<double> process_age_s(int pid);

// Errors: Unreadable.
Result<ProcessStat> parse_process_stat(std::string_view text);

}  // namespace hangdbg
