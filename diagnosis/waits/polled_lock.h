// Locks of files for which a thread tries again and again, and sleeps between:
// by a library that is known, or by a loop of the program's own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/waits/holders.h"

namespace hangdbg {

// What a library's frame that tries and sleeps says of it.
struct LibraryTry {
  const PythonFrame* frame = nullptr;
  std::string path;
  // The file is the lock, by being there, and nothing in it is locked.
  bool by_existence = false;
};
std::optional<LibraryTry> library_try(const ProcessSnapshot& of,
                                      const ThreadSnapshot& thread);

struct PolledLock {
  SeenFile file;
  std::vector<ThreadId> holders;
  std::string how;  // evidence
  // Certain by a library's frame. By what looks so: likely of a file that is
  // open or at hand where it sleeps, else possible.
  Confidence confidence = Confidence::Possible;
  bool own = false;  // this process itself has it: then it is certain
};

// Of those that another process has. By existence is none of them.
std::optional<PolledLock> polled_lock(const ProcessSnapshot& of,
                                      const ThreadSnapshot& thread);

}  // namespace hangdbg
