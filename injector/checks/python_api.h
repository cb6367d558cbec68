// The functions of the target's libc and Python that the stub and the
// bootstrap call, looked up out of process.
//
// The bootstrap itself has no undefined symbols: with them it would fail where
// libpython was opened RTLD_LOCAL, and where they are bound lazily it would
// kill the target.
#pragma once

#include <vector>

#include "base/result.h"
#include "injector/bootstrap/shared.h"
#include "injector/checks/danger.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

struct TargetApi {
  HdApi table{};
  Address pthread_attr_init;
  Address pthread_attr_setstacksize;
  Address pthread_create;
};

// Errors: UnsupportedPython, naming the function that is missing.
Result<TargetApi> find_target_api(const MemoryReader& memory,
                                  const std::vector<Module>& modules,
                                  const PythonRuntime& python,
                                  const DangerousCode& danger);

}  // namespace hangdbg
