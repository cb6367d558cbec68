// What is mounted where, as a process sees it: /proc/PID/mountinfo
// (proc_pid_mountinfo(5)). To read it touches no file system.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hangdbg {

struct Mount {
  std::string point;   // where
  std::string type;    // "ext4", "nfs4", "fuse.sshfs"
  std::string source;  // "/dev/sda1", "server:/export"
};

// Errors: those of read_proc_file.
Result<std::vector<Mount>> read_mounts(int pid);

// The one that a path, which begins with a slash, is on.
std::optional<Mount> mount_of(int pid, std::string_view path);

// The same among those that were read; null if there is none.
const Mount* mount_among(const std::vector<Mount>& mounts,
                         std::string_view path);

// Lines that do not parse are skipped.
std::vector<Mount> parse_mounts(std::string_view text);

}  // namespace hangdbg
