// A live process, opened to be read: which Python runs in it, and where.
// Nothing in it is stopped or changed.
#pragma once

#include <vector>

#include "base/result.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

struct PythonProcess {
  int pid;
  LiveMemory memory;
  std::vector<Mapping> maps;
  std::vector<Module> modules;
  PythonRuntime python;
};

// `pages`, if there are any, is that process's memory (what is read now will be
// asked for again). May wait for as long as the process is in D state: have a
// deadline. Errors: those of find_python, which name the process here;
// Wrong32Bit, NotPermitted, NoSuchProcess.
Result<PythonProcess> open_process(int pid,
                                   const MemoryReader* pages = nullptr);

// For callers that need Python's stacks and values alone, no C stacks, tasks or
// greenlets: where the program exports its Python, `maps` and `modules` stay
// empty. They cost more than all the rest where hundreds of libraries are
// loaded. Errors: the same.
Result<PythonProcess> open_python(int pid);

// Of one that holds up for longer than its reader may wait.
Error not_read_in_time(int pid);

// What only reads memory knows no pids: with this one said, in the message and
// in the command to type.
Error name_process(int pid, Error error);

}  // namespace hangdbg
