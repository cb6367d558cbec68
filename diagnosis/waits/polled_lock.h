// Locks of files that a thread tries to take again and again, sleeping between:
// by a known library, or by a loop of the program's own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/waits/holders.h"

namespace hangdbg {

// What is known from a library's frame that tries and sleeps.
struct LibraryTry {
  const PythonFrame* frame = nullptr;
  std::string path;
  // The file itself is the lock: it exists, and nothing in it is locked.
  bool by_existence = false;
};
std::optional<LibraryTry> library_try(const ProcessSnapshot& of,
                                      const ThreadSnapshot& thread);

struct PolledLock {
  SeenFile file;
  std::vector<ThreadId> holders;
  std::string how;  // evidence
  // Certain by a library's frame. By appearance: likely for a file that is open
  // or named where it sleeps, else possible.
  Confidence confidence = Confidence::Possible;
  bool own = false;  // this process itself holds it: then it is certain
};

// Held by another process. None of these is by existence.
std::optional<PolledLock> polled_lock(const ProcessSnapshot& of,
                                      const ThreadSnapshot& thread);

}  // namespace hangdbg
