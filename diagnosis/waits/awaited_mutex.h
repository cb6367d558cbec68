// Which mutex of the C library (pthread_mutex_lock(3)) a thread waits for. It
// keeps its owner's number, as the process knew that when it was taken: after a
// fork that of a thread of the parent. Source: glibc's struct
// __pthread_mutex_s.
#pragma once

#include <cstdint>
#include <optional>

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

struct AwaitedMutex {
  Address address;
  std::int32_t owner = 0;  // as the process numbers its threads
  std::string type;        // "normal", "recursive", "error-checking"
  std::optional<int> tid;  // our number of the owner; none: it is not here
};

// None: it waits for something else.
std::optional<AwaitedMutex> awaited_mutex(const ProcessSnapshot& of,
                                          const ThreadSnapshot& thread);

// Our number of the thread that had it, if that is one of the process by which
// this one was forked.
std::optional<int> owner_in_parent(const ProcessSnapshot& of,
                                   const AwaitedMutex& mutex);

}  // namespace hangdbg
