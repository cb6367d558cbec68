// The unfinished asyncio tasks of a process, and which waits for which, read
// out of process.
//
// asyncio keeps its tasks in sets, from 3.14 on in lists as well; their fields
// are told by what is in them. docs/decisions/0033 says how.
#pragma once

#include <string>
#include <vector>

#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/gil.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "tracee/memory/address.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/target_files.h"

namespace hangdbg {

struct AsyncioTask {
  Address address;
  std::string name;                // none up to 3.7
  std::string state;               // "waits", "ready", "runs", "not begun"
  std::string future;              // the class of what it waits for
  Address waiter;                  // that future
  std::vector<Address> waits_for;  // tasks of these, by that or by a group
  PythonStack stack;               // none of one that runs
};

struct AsyncioTasks {
  std::vector<AsyncioTask> tasks;  // by name
  bool complete = true;            // false: some could not be read
};

// None, where nothing has imported asyncio. `modules` and `files`: for where
// its lists are.
AsyncioTasks read_asyncio_tasks(const ObjectReader& objects,
                                const PythonRuntime& python,
                                const std::vector<Module>& modules,
                                const TargetFiles& files,
                                PythonStackReader& stacks,
                                const std::vector<PythonThread>& threads);

}  // namespace hangdbg
