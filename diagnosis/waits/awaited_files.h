// For which of its descriptors a thread's system call waits: one that read(2)
// or its like is given, or those that poll(2), select(2) and epoll watch.
#pragma once

#include <optional>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"
#include "tracee/proc/open_files.h"

namespace hangdbg {

struct AwaitedFile {
  OpenFile file;
  bool to_read = false;   // else to write
  bool to_write = false;  // also, if it is watched for both
};

struct AwaitedFiles {
  std::vector<AwaitedFile> files;
  bool any = false;        // the call waits for descriptors
  bool with_time = false;  // and has a time limit
};

AwaitedFiles awaited_files(const ProcessSnapshot& of,
                           const ThreadSnapshot& thread);

// Without those that only its own process can write to: an eventfd, a pair of
// Unix sockets or a pipe, such as an event loop's wakeup descriptor.
std::vector<AwaitedFile> awaited_from_others(const ProcessSnapshot& of,
                                             const AwaitedFiles& awaited);

// A listening TCP socket.
bool accepts_connections(const ProcessSnapshot& of, const OpenFile& file);

// The one socket that a call waits for. Of an event loop: the only descriptor
// by which another process can wake it, if there is no timer or thread that
// can.
std::optional<AwaitedFile> only_connection(const ProcessSnapshot& of,
                                           const ThreadSnapshot& thread,
                                           const AwaitedFiles& awaited);

// It has run while it was sampled, and not because of a timeout: what it waits
// for arrives.
bool gets_on(const ThreadSnapshot& thread, const AwaitedFiles& awaited);
// What is said of its wait then: nothing that would have no end.
std::optional<Cause> of_one_that_gets_on(Cause cause);

}  // namespace hangdbg
