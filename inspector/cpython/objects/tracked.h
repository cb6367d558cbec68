// The objects that an interpreter's garbage collector knows: all that may hold
// others, whatever else can reach them.
//
// They lie in rings, one a generation and, from 3.7 on, one of what
// gc.freeze() set aside.
// Each has a header before it with the next one and the one before. Where the
// next one's way back does not lead here, no ring is believed.
#pragma once

#include <cstddef>
#include <functional>

#include "base/deadline.h"
#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

struct TrackedLimits {
  std::size_t most;  // objects
  Deadline deadline;
};

using VisitTracked = std::function<void(Address object, Address type)>;

// One may be visited more than once. Errors, after as many as there could be:
// Unreadable, with the reason why these are not all; UnsupportedPython, where
// there are no rings (free-threaded builds).
Status each_tracked(const MemoryReader& memory,
                    const ObjectReader& objects,
                    const PythonRuntime& python,
                    Address interpreter,
                    const TrackedLimits& limits,
                    const VisitTracked& visit);

}  // namespace hangdbg
