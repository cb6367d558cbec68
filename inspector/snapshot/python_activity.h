// What Python is in the middle of, besides its frames: the exception that a
// thread handles, a run of the garbage collector.
#pragma once

#include <optional>

#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "tracee/memory/address.h"

namespace hangdbg {

// The exception in whose `except` or `finally` block the thread is: what
// sys.exc_info() would say there. Empty if there is none, or it cannot be read.
std::optional<Address> handled_exception(const ObjectReader& objects,
                                         Address thread_state);

// Of that interpreter (a PyInterpreterState). Also false where a 3.6 does not
// tell.
bool collects_garbage(const ObjectReader& objects,
                      const PythonRuntime& python,
                      Address interpreter);

}  // namespace hangdbg
