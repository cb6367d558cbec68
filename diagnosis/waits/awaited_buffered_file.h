// Which buffered file (io.BufferedWriter and its like) a thread waits for: each
// has a lock, in C, that a thread holds while it reads or writes, and records
// the owner. Source: struct buffered (Modules/_io/bufferedio.c), where the
// owner follows the lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

struct AwaitedBufferedFile {
  Address object;
  std::string type;         // "_io.BufferedWriter"
  std::uint64_t owner = 0;  // its threading.get_ident()
};

// Searched on the thread's innermost frame, and among the standard streams.
// None: it waits for something else, or the file was not found.
std::optional<AwaitedBufferedFile> awaited_buffered_file(
    const ProcessSnapshot& of,
    const ThreadSnapshot& thread);

}  // namespace hangdbg
