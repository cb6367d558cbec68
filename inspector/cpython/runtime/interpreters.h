// The interpreters of a process: the main one, and its subinterpreters.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

struct Interpreter {
  Address state;        // PyInterpreterState
  std::int64_t id = 0;  // 0 is the main one
};

// Newest first, as CPython keeps them: main is the last.
// Errors: NotInitialized when there is none yet; Unreadable.
Result<std::vector<Interpreter>> read_interpreters(const MemoryReader& memory,
                                                   const PythonRuntime& python);

}  // namespace hangdbg
