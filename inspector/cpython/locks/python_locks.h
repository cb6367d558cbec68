// Locks of Python: the objects of Modules/_threadmodule.c, read out of process.
// Which one a thread waits for, where a program keeps it, and its holder.
//
// An RLock knows its owner. A Lock does not: but `with lock:` leaves the call
// that will release it on its frame's value stack, below where the block's
// exceptions are handled, and there it is as long as the block lasts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inspector/cpython/objects/locks.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "tracee/memory/address.h"
#include "tracee/proc/wait_sample.h"

namespace hangdbg {

// What a thread asleep in futex(2) may be parked by, as PythonLock::word has
// it. None, if it sleeps in another call.
std::vector<Address> parked_by(const ObjectReader& objects,
                               const WaitSample& wait);

// A lock, and by which name the code in a frame has it: "lock", "self._lock".
struct NamedLock {
  std::string name;  // empty: it is on the value stack alone
  PythonLock lock;
};

// The lock with one of these words, among what a frame can reach: its value
// stack, its variables and their attributes, its module's names. Nothing: it is
// not there.
std::optional<NamedLock> find_lock(const ObjectReader& objects,
                                   const PythonFrame& frame,
                                   std::span<const Address> words);

// A lock, and the frame in whose `with` a thread has it.
struct HeldPythonLock {
  PythonLock lock;
  const PythonFrame* frame = nullptr;
};

// The locks whose `with` blocks a frame is in; a Condition's is its own. Also
// one that it is interrupted at, by a handler of a signal or the garbage
// collector: its __enter__ has taken it, or its __exit__ has not yet released
// it. Unreadable ones are left out.
std::vector<PythonLock> held_by_with(const ObjectReader& objects,
                                     const PythonFrame& frame);

}  // namespace hangdbg
