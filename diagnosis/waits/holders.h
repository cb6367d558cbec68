// Files as a process sees them, and which processes have them open or locked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

struct SeenFile {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  double age_s = 0;   // since it was last written
  std::string path;   // as the process names it, from its root
  unsigned mode = 0;  // its kind and rights (inode(7))
};

// The file of that path, as the process sees it. None: it is not there, or its
// file system did not answer in time.
std::optional<SeenFile> seen_by(int pid, const std::string& path);
std::string age_text(const SeenFile& file);  // "2 d 3 h"

// The main threads of the processes that have it open.
struct Openers {
  std::vector<ThreadId> known;
  std::size_t unseen = 0;  // processes of which we may not see what they have
  bool elsewhere = false;  // machines that share its file system may have it
};
Openers who_has_open(const ProcessSnapshot& of, const SeenFile& file);

// Those that have a descriptor which leads to that name: "/dev/fuse".
std::vector<ThreadId> who_has_device(std::string_view name);

// The descriptor whose lock a thread waits for in the kernel: flock(2),
// fcntl(2).
std::optional<int> awaited_file_lock(const ThreadSnapshot& thread);
// Who holds what a thread of that process waits for there (proc_locks(5)).
std::vector<ThreadId> who_has_awaited(const ProcessSnapshot& of);

// Of those that hold a lock on it, by whatever way; each once.
std::vector<ThreadId> who_locks(const ProcessSnapshot& of,
                                const SeenFile& file);
// By their descriptors: whoever has one from a process that has locked the
// file, with flock(2) or F_OFD_SETLK, has the lock, too.
std::vector<ThreadId> who_locks_by_descriptor(const ProcessSnapshot& of,
                                              const SeenFile& file);

// A thread of it waits for who connects: it serves.
bool takes_connections(SystemSnapshot& system, int pid);

}  // namespace hangdbg
