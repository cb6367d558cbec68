// Which mutex of the C library (pthread_mutex_lock(3)) a thread waits for. It
// records its owner's TID as the process knew it: after a fork, that of a
// thread of the parent. Source: glibc's struct __pthread_mutex_s.
#pragma once

#include <cstdint>
#include <optional>

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

struct AwaitedMutex {
  Address address;
  std::int32_t owner = 0;  // as the process numbers its threads
  std::string type;        // "normal", "recursive", "error-checking"
  std::optional<int> tid;  // the owner's TID here; none: not in this process
};

// None: it waits for something else.
std::optional<AwaitedMutex> awaited_mutex(const ProcessSnapshot& of,
                                          const ThreadSnapshot& thread);

// TID of the owner in the process that this one was forked from, if it is a
// thread of that.
std::optional<int> owner_in_parent(const ProcessSnapshot& of,
                                   const AwaitedMutex& mutex);

}  // namespace hangdbg
