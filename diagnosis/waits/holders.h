// Files as a process sees them, and which processes have them open or locked.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

struct SeenFile {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  double age_s = 0;   // since it was last written
  std::string path;   // from the process's root
  unsigned mode = 0;  // its kind and rights (inode(7))
};

// The file of that path, as the process sees it. None: it does not exist, or
// its file system did not answer in time.
std::optional<SeenFile> seen_by(int pid, const std::string& path);
std::string age_text(const SeenFile& file);  // "2 d 3 h"

// The main threads of the processes that have it open.
struct Openers {
  std::vector<ThreadId> known;
  std::size_t unseen = 0;  // processes whose files may not be read
  bool elsewhere = false;  // machines that share its file system may have it
};
Openers who_has_open(const ProcessSnapshot& of, const SeenFile& file);

// The processes that have a descriptor of that name: "/dev/fuse".
std::vector<ThreadId> who_has_device(std::string_view name);

// The descriptor whose lock a thread waits for in the kernel: flock(2),
// fcntl(2).
std::optional<int> awaited_file_lock(const ThreadSnapshot& thread);
// The holders of what a thread of that process waits for (proc_locks(5)).
std::vector<ThreadId> who_has_awaited(const ProcessSnapshot& of,
                                      const ThreadSnapshot& thread);

// The holders of a lock on it, of any kind; each once.
std::vector<ThreadId> who_locks(const ProcessSnapshot& of,
                                const SeenFile& file);
// By their descriptors: a process that inherits one on which the file was
// locked, with flock(2) or F_OFD_SETLK, holds the lock, too.
std::vector<ThreadId> who_locks_by_descriptor(
    const ProcessSnapshot& of,
    const SeenFile& file,
    const std::function<bool(const HeldLock&)>& counts = [](const HeldLock&) {
      return true;
    });

// One of its threads waits for connections: it is a server.
bool takes_connections(SystemSnapshot& system, int pid);

}  // namespace hangdbg
