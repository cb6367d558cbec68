// Which lock a thread waits for, of any kind, and its owner: what rules know
// about locks, as facts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/waits/awaited_python_lock.h"

namespace hangdbg {

enum class LockKind {
  Gil,
  Lock,
  RLock,
  Condition,  // what waits for a notify(): also of an Event, a queue, a Future
  Mutex,      // of C code
  Shared,     // of multiprocessing
  SharedSemaphore,
  File,
};
std::string_view lock_kind_name(LockKind kind);  // "RLock", "mutex", ...

struct LockOwner {
  ThreadId id;
  std::string who;    // "thread 12 "worker"", "process 99 (python)"
  std::string state;  // "asleep in futex for 3 min"; "" if unknown
  std::string place;  // of the `with` that holds it; else where it is now
};

struct SeenLock {
  LockKind kind = LockKind::Lock;
  // Identifies the lock: in memory by process and address, of files and shared
  // memory by device and inode.
  std::string key;
  std::string name;         // `self._lock`, a path, a mutex's type; may be ""
  Address address;          // in that process; none of a file
  std::uint64_t count = 0;  // how often an RLock is held
  std::vector<LockOwner> owners;
  // The owner in the parent, when this process was forked.
  std::optional<ThreadId> owner_in_parent;
  std::string note;  // why no owner is listed; "" otherwise
};

// "the RLock `lock`, held by thread 12 "worker"".
std::string describe(const SeenLock& lock);

// Of one process. What its threads hold is read once, on first use.
class LockReader {
 public:
  explicit LockReader(const ProcessSnapshot& of) : of_(of) {}

  std::optional<SeenLock> awaited_by(const ThreadSnapshot& thread) const;

  // The Python locks that a thread holds by `with`.
  std::vector<SeenLock> held_by(const ThreadSnapshot& thread) const;

  // The GIL, if it is held.
  std::optional<SeenLock> gil() const;

 private:
  using Holders = std::map<Address, std::vector<PythonLockHolder>>;
  SeenLock python_lock(const PythonLock& lock, std::string name) const;
  const Holders& holders() const;
  void tell_parent(const PythonLock& lock, SeenLock& seen) const;

  const ProcessSnapshot& of_;
  mutable std::optional<Holders> holders_;
};

}  // namespace hangdbg
