// For which of its descriptors a thread's system call waits: one that read(2)
// or its like is given, or those that poll(2), select(2) and epoll watch.
#pragma once

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

// It has run while it was looked at, and not because a time was over: what it
// waits for comes.
bool gets_on(const ThreadSnapshot& thread, const AwaitedFiles& awaited);

}  // namespace hangdbg
