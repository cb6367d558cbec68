// Which Lock or RLock of Python a thread waits for, and its holder.
#pragma once

#include <optional>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"
#include "inspector/cpython/locks/python_locks.h"

namespace hangdbg {

struct AwaitedPythonLock {
  NamedLock lock;
  const PythonFrame* frame = nullptr;  // that has a name for it
};
// None: it waits for something else, or no frame has a name for it.
std::optional<AwaitedPythonLock> awaited_python_lock(
    const ProcessSnapshot& of,
    const ThreadSnapshot& thread);

struct PythonLockHolder {
  const ThreadSnapshot* thread = nullptr;
  const PythonFrame* frame = nullptr;  // its `with`; null: an RLock's owner
};
// The holders in that process, as far as known: the owner of an RLock; the
// threads in a `with` of a Lock.
std::vector<PythonLockHolder> holders_of(const ProcessSnapshot& of,
                                         const PythonLock& lock);

// All that a thread holds, without those that it released to wait for their
// Conditions. Searched once.
const std::vector<HeldPythonLock>& held_by(const ProcessSnapshot& of,
                                           const ThreadSnapshot& thread);

}  // namespace hangdbg
