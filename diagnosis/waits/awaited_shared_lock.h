// Which lock of multiprocessing a thread waits for: a semaphore in shared
// memory (Modules/_multiprocessing/semaphore.c), which several processes share.
// Each process's object records whether that process holds it. Forked processes
// have it at the same address; in others it is searched by their frames' names.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

struct AwaitedSharedLock {
  std::uint64_t device = 0, inode = 0;  // of its memory
  std::vector<int> sharers;             // other processes that map it
  bool known = false;        // its object was found: else the rest is unknown
  bool is_lock = false;      // else a semaphore: an Event's, a Condition's, ...
  std::vector<int> waiting;  // of a semaphore's sharers: for the same
  int own_count = 0;         // how often this process holds it
  const ThreadSnapshot* own_holder = nullptr;  // the thread that took it last
  std::vector<int> holders;                    // of the sharers
  bool all_told = true;  // all sharers are known, and which of them hold it
};

// None: it waits for something else.
std::optional<AwaitedSharedLock> awaited_shared_lock(
    const ProcessSnapshot& of,
    const ThreadSnapshot& thread);

}  // namespace hangdbg
