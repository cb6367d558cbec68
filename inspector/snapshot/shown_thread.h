// Which thread a person wants to see, chosen out of process.
#pragma once

#include <string>

#include "base/result.h"
#include "inspector/cpython/runtime/gil.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "inspector/cpython/stacks/target.h"

namespace hangdbg {

struct FoundThread {
  PythonThread thread;
  std::string name;   // empty if it has none
  PythonStack stack;  // of the program: without what it runs for a client
};

// `wanted` is a tid, a name, "main", or empty for the default one
// (default_thread.h). To be called on a thread of ours that
// traces nothing else of that process.
// Errors: NoSuchThread, naming those there are; NotInitialized, Unreadable.
Result<FoundThread> find_thread(const Target& target,
                                const std::string& wanted);

}  // namespace hangdbg
