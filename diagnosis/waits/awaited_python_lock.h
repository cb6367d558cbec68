// Which Lock or RLock of Python a thread waits for, and who holds it.
#pragma once

#include <optional>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"
#include "inspector/cpython/locks/python_locks.h"

namespace hangdbg {

struct AwaitedPythonLock {
  NamedLock lock;
  const PythonFrame* frame = nullptr;  // that has it by its name
};
// None: it waits for something else, or nothing that its frames know.
std::optional<AwaitedPythonLock> awaited_python_lock(
    const ProcessSnapshot& of,
    const ThreadSnapshot& thread);

struct PythonLockHolder {
  const ThreadSnapshot* thread = nullptr;
  const PythonFrame* frame = nullptr;  // in whose `with` it is; null: an RLock
                                       // says who owns it
};
// Those of that process, as far as it can be told: of an RLock its owner, of a
// Lock who is in a `with` of it.
std::vector<PythonLockHolder> holders_of(const ProcessSnapshot& of,
                                         const PythonLock& lock);

// All of a thread, but for those that it has let go of to wait for their
// Conditions. Looked for once.
const std::vector<HeldPythonLock>& held_by(const ProcessSnapshot& of,
                                           const ThreadSnapshot& thread);

}  // namespace hangdbg
