// Python's locks: whether one is held, and what of its holder it keeps.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "tracee/memory/address.h"

namespace hangdbg {

struct PythonLock {
  Address object;
  Kind kind = Kind::Lock;  // or RLock
  Address word;            // what threads that wait for it are parked by
  bool locked = false;
  std::uint64_t owner = 0;  // threading.get_ident() of it; 0: it keeps none
  std::uint64_t count = 0;  // how often an RLock is held
};

// Errors: Unreadable, also when that is no lock.
Result<PythonLock> read_python_lock(const ObjectReader& objects,
                                    Address object);

constexpr bool is_lock(Kind kind) {
  return kind == Kind::Lock || kind == Kind::RLock;
}

}  // namespace hangdbg
