// Where a process may run out of room: descriptors, and the file systems into
// which it writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "tracee/proc/open_files.h"

namespace hangdbg {

// As many as the kernel says that there are. Errors: those of read_open_files.
Result<std::size_t> count_open_files(int pid);

struct FileSystem {
  std::string point;  // as the process names it
  std::string type;
  std::string use;               // "fd 5, /data/log.txt"; "" of /dev/shm
  std::uint64_t bytes = 0;       // 0: it has no such limit
  std::uint64_t bytes_left = 0;  // for users but root
  std::uint64_t files = 0;
  std::uint64_t files_left = 0;

  bool is_full() const;
};

// /dev/shm, that of its temporary files, and those on which it has a file open
// to write. Asks each of them how full it is, which a file server that does not
// answer keeps waiting.
std::vector<FileSystem> read_file_systems(int pid,
                                          const std::vector<OpenFile>& open);

}  // namespace hangdbg
