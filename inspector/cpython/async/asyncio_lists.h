// Where asyncio's lists of tasks are. From 3.14 on its C module says so: in a
// section of its file, for debuggers. (Py_AsyncioModuleDebugOffsets,
// Modules/_asynciomodule.c)
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/target_files.h"

namespace hangdbg {

struct AsyncioLists {
  std::uint32_t node_in_task = 0;    // TaskObj
  std::uint32_t in_interpreter = 0;  // PyInterpreterState
  std::uint32_t in_thread = 0;       // _PyThreadStateImpl
  std::uint32_t running_loop = 0;    // the same
};

// Where the module does not say it: a row of ours, unless a patch release has
// moved what comes before. `task`: asyncio's own kind. Errors: Unreadable.
Result<AsyncioLists> find_asyncio_lists(const ObjectReader& objects,
                                        const PythonRuntime& python,
                                        const Type& task,
                                        const std::vector<Module>& modules,
                                        const TargetFiles& files);

// AsyncioLists::running_loop, told in the same way; kAbsent where nothing does.
std::uint32_t find_running_loop_field(const ObjectReader& objects,
                                      const PythonRuntime& python,
                                      const std::vector<Module>& modules,
                                      const TargetFiles& files);

}  // namespace hangdbg
