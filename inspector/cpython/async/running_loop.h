// asyncio's event loop that runs in a thread, as asyncio.get_running_loop()
// tells it there: whatever the loop is written in.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "tracee/memory/address.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/target_files.h"

namespace hangdbg {

// For one process.
class RunningLoops {
 public:
  // All must outlive this.
  RunningLoops(const PythonRuntime& python,
               const std::vector<Module>& modules,
               TargetFiles files)
      : python_(python), modules_(modules), files_(std::move(files)) {}

  // None, if none runs. Errors: Unreadable, also where a version is not known.
  Result<std::optional<Address>> of(const ObjectReader& objects,
                                    Address thread_state);

 private:
  const PythonRuntime& python_;
  const std::vector<Module>& modules_;
  TargetFiles files_;
  std::optional<std::uint32_t> field_;  // of the thread state; from 3.13 on
};

}  // namespace hangdbg
