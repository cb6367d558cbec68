// Where asyncio keeps its tasks: in sets, from 3.14 on in lists as well.
#pragma once

#include <set>
#include <vector>

#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/gil.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "tracee/memory/address.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/target_files.h"

namespace hangdbg {

struct FoundTasks {
  std::set<Address> tasks;  // perhaps with some that are done
  bool complete = true;     // false: some could not be found
};

constexpr std::size_t kMostAsyncioTasks = 100'000;

// Of all interpreters and loops. None, where nothing has imported asyncio.
FoundTasks find_asyncio_tasks(const ObjectReader& objects,
                              const PythonRuntime& python,
                              const std::vector<Module>& modules,
                              const TargetFiles& files,
                              const std::vector<PythonThread>& threads);

}  // namespace hangdbg
