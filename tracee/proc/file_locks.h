// The file locks of this machine, held and waited for: /proc/locks
// (proc_locks(5)). It shows those of processes that our PID namespace has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hangdbg {

struct FileLock {
  std::uint64_t number = 0;  // a waiter has the number of its lock
  bool waits = false;
  std::string type;  // "FLOCK", "POSIX", "OFDLCK", "LEASE"
  bool write = false;
  int pid = 0;                    // the owner; 0 or -1: none that we can see
  unsigned major = 0, minor = 0;  // of the file's device
  std::uint64_t inode = 0;
  std::uint64_t start = 0;
  std::optional<std::uint64_t> end;  // included; none: the end of the file
};

// Errors: System, of a kernel without it.
Result<std::vector<FileLock>> read_file_locks();

// Lines that do not parse are skipped.
std::vector<FileLock> parse_file_locks(std::string_view text);

}  // namespace hangdbg
