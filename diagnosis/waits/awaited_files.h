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
  bool to_read = false;  // else to write
};

struct AwaitedFiles {
  std::vector<AwaitedFile> files;
  bool any = false;        // the call waits for descriptors
  bool with_time = false;  // and comes back by itself some time
};

AwaitedFiles awaited_files(const ProcessSnapshot& of,
                           const ThreadSnapshot& thread);

// Without those by which only its own process can wake it: an eventfd, a pair
// of Unix sockets or a pipe, as event loops have one.
std::vector<AwaitedFile> awaited_from_others(const ProcessSnapshot& of,
                                             const AwaitedFiles& awaited);

// A TCP socket that listens.
bool accepts_connections(const ProcessSnapshot& of, const OpenFile& file);

// The one socket that a call waits for. Of an event loop: the one of its
// descriptors by which another process can wake it, if nothing else does, be it
// a timer or a thread.
std::optional<AwaitedFile> only_connection(const ProcessSnapshot& of,
                                           const ThreadSnapshot& thread,
                                           const AwaitedFiles& awaited);

// It has run while it was looked at, and not because a time was over: what it
// waits for comes.
bool gets_on(const ThreadSnapshot& thread, const AwaitedFiles& awaited);

}  // namespace hangdbg
