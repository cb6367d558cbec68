#include "diagnosis/evidence/awaited_lock.h"

#include <fmt/core.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/text.h"
#include "diagnosis/waits/awaited_mutex.h"
#include "diagnosis/waits/awaited_shared_lock.h"
#include "diagnosis/waits/gil_waits.h"
#include "diagnosis/waits/holders.h"

namespace hangdbg {
namespace {

LockOwner owner_of(const ThreadSnapshot& thread, const PythonFrame* frame) {
  return {thread.id, thread.who(), describe(thread.wait),
          frame != nullptr ? place_of(*frame) : thread.place()};
}

// A process of which the owning thread is not known.
LockOwner owner_of(int pid) {
  const auto wait = sample_wait(pid, pid);
  return {
      {pid, pid}, process_text(pid), wait ? describe(*wait) : "has ended", ""};
}

// Condition.wait() makes a Lock for each waiter, which notify() releases
// (Lib/threading.py).
bool is_condition(const ProcessSnapshot& of,
                  const ThreadSnapshot& thread,
                  const PythonLock& lock) {
  const PythonFrame* const waits = thread.find("wait", "/threading.py", 1);
  return waits != nullptr && of.object(*waits, "waiter") == lock.object;
}

// Up to 3.12 a thread holds a Lock as long as it runs.
bool is_join(const ThreadSnapshot& thread) {
  return thread.find("_wait_for_tstate_lock", "/threading.py", 1) != nullptr;
}

SeenLock seen_condition(const ProcessSnapshot& of, const PythonLock& lock) {
  return {.kind = LockKind::Condition,
          .key = fmt::format("{} lock {:#x}", of.pid, lock.object.value),
          .address = lock.object,
          .note =
              "it goes on when another thread notifies it, sets the Event, "
              "or fills the queue"};
}

SeenLock seen_mutex(const ProcessSnapshot& of, const AwaitedMutex& mutex) {
  SeenLock lock{
      .kind = LockKind::Mutex,
      .key = fmt::format("{} mutex {:#x}", of.pid, mutex.address.value),
      .name = mutex.type,
      .address = mutex.address};
  if (mutex.tid) {
    if (const ThreadSnapshot* const owner = of.thread(*mutex.tid)) {
      lock.owners.push_back(owner_of(*owner, nullptr));
    }
    return lock;
  }
  const auto there = owner_in_parent(of, mutex);
  if (there) {
    lock.owner_in_parent = ThreadId{of.status.ppid, *there};
  }
  lock.note =
      there
          ? fmt::format("thread {} of {} had it at the fork, which is not here",
                        *there, process_text(of.status.ppid))
      : of.forked_from(of.status.ppid)
          ? fmt::format("thread {} of {} had it at the fork", mutex.owner,
                        process_text(of.status.ppid))
          : fmt::format("its owner, thread {}, has ended", mutex.owner);
  return lock;
}

SeenLock seen_shared(const AwaitedSharedLock& shared) {
  SeenLock lock{
      .kind = shared.known && !shared.is_lock ? LockKind::SharedSemaphore
                                              : LockKind::Shared,
      .key = fmt::format("shared {:x}:{}", shared.device, shared.inode)};
  if (shared.own_holder != nullptr) {
    lock.owners.push_back(owner_of(*shared.own_holder, nullptr));
  }
  for (const int pid : shared.holders) {
    lock.owners.push_back(owner_of(pid));
  }
  if (!lock.owners.empty()) {
    return lock;
  }
  lock.note = lock.kind == LockKind::SharedSemaphore
                  ? fmt::format("any of {} other processes may release it",
                                shared.sharers.size())
              : shared.own_count > 0
                  ? "a thread of this process had it, and has ended"
              : shared.known && shared.all_told
                  ? "none of the processes that share it has it: who had it "
                    "has ended"
                  : "its owner could not be read";
  return lock;
}

SeenLock seen_file_lock(const ProcessSnapshot& of,
                        const ThreadSnapshot& thread,
                        int fd) {
  const auto file = of.file(fd);
  SeenLock lock{.kind = LockKind::File, .name = file ? file->name : ""};
  const auto& locks = of.system.file_locks();
  const auto mine = std::ranges::find_if(locks, [&](const FileLock& one) {
    return one.waits && one.pid == of.pid;
  });
  if (mine != locks.end()) {
    lock.key =
        fmt::format("file {:x}:{:x}:{}", mine->major, mine->minor, mine->inode);
  } else if (file && file->inode != 0) {
    lock.key = fmt::format("file {:x}:{:x}:{}", major(file->device),
                           minor(file->device), file->inode);
  } else {
    lock.key = fmt::format("{} file {}", of.pid, lock.name);
  }
  for (const ThreadId& id : who_has_awaited(of, thread)) {
    lock.owners.push_back(owner_of(id.pid));
  }
  if (lock.owners.empty()) {
    lock.note = "/proc/locks names nobody that can be seen from here";
  }
  return lock;
}

}  // namespace

std::string_view lock_kind_name(LockKind kind) {
  switch (kind) {
    case LockKind::Gil:
      return "GIL";
    case LockKind::Lock:
      return "Lock";
    case LockKind::RLock:
      return "RLock";
    case LockKind::Condition:
      return "Condition";
    case LockKind::Mutex:
      return "mutex";
    case LockKind::Shared:
      return "shared lock";
    case LockKind::SharedSemaphore:
      return "shared semaphore";
    case LockKind::File:
      return "file lock";
  }
  return "?";
}

std::string describe(const SeenLock& lock) {
  const bool code = lock.kind == LockKind::Lock || lock.kind == LockKind::RLock;
  std::string text =
      fmt::format("{} {}", lock.kind == LockKind::Condition ? "a" : "the",
                  lock_kind_name(lock.kind));
  if (lock.kind == LockKind::Mutex) {
    text = fmt::format("a {} mutex of C code at {:#x}", lock.name,
                       lock.address.value);
  } else if (lock.kind == LockKind::File) {
    text += fmt::format(" on {}", printable(lock.name));
  } else if (code && !lock.name.empty()) {
    text += fmt::format(" `{}`", printable(lock.name));
  }
  for (const LockOwner& owner : lock.owners) {
    text += fmt::format("{}{}",
                        &owner == &lock.owners.front() ? ", held by " : " and ",
                        owner.who);
  }
  return lock.note.empty() ? text : text + ": " + printable(lock.note);
}

std::optional<SeenLock> LockReader::awaited_by(
    const ThreadSnapshot& thread) const {
  if (waits_for_gil(of_, thread)) {
    return gil();
  }
  if (const auto lock = awaited_python_lock(of_, thread)) {
    if (is_condition(of_, thread, lock->lock.lock)) {
      return seen_condition(of_, lock->lock.lock);
    }
    SeenLock seen = python_lock(lock->lock.lock, lock->lock.name);
    if (is_join(thread)) {
      seen.note = "it is released when the thread that is joined ends";
    }
    return seen;
  }
  if (const auto mutex = awaited_mutex(of_, thread)) {
    return seen_mutex(of_, *mutex);
  }
  if (const auto shared = awaited_shared_lock(of_, thread)) {
    return seen_shared(*shared);
  }
  const auto fd = awaited_file_lock(thread);
  return fd ? std::optional(seen_file_lock(of_, thread, *fd)) : std::nullopt;
}

std::vector<SeenLock> LockReader::held_by(const ThreadSnapshot& thread) const {
  std::vector<SeenLock> held;
  for (const HeldPythonLock& one : hangdbg::held_by(of_, thread)) {
    const auto named =
        find_lock(of_.objects(), *one.frame, std::span(&one.lock.word, 1));
    held.push_back(python_lock(one.lock, named ? named->name : ""));
  }
  return held;
}

std::optional<SeenLock> LockReader::gil() const {
  if (!of_.gil || !of_.gil->locked) {
    return std::nullopt;
  }
  SeenLock lock{.kind = LockKind::Gil,
                .key = fmt::format("{} GIL", of_.pid),
                .address = of_.gil->locked_word};
  const auto* const holder =
      of_.gil->holder_tid ? of_.thread(*of_.gil->holder_tid) : nullptr;
  if (holder != nullptr) {
    lock.owners.push_back(owner_of(*holder, nullptr));
  } else {
    lock.note = "its owner could not be told";
  }
  return lock;
}

SeenLock LockReader::python_lock(const PythonLock& lock,
                                 std::string name) const {
  SeenLock seen{
      .kind = lock.kind == Kind::RLock ? LockKind::RLock : LockKind::Lock,
      .key = fmt::format("{} lock {:#x}", of_.pid, lock.object.value),
      .name = std::move(name),
      .address = lock.object,
      .count = lock.count};
  const auto known = holders().find(lock.object);
  if (lock.owner != 0) {
    for (const PythonLockHolder& holder : holders_of(of_, lock)) {
      seen.owners.push_back(owner_of(*holder.thread, nullptr));
    }
  } else if (known != holders().end()) {
    for (const PythonLockHolder& holder : known->second) {
      seen.owners.push_back(owner_of(*holder.thread, holder.frame));
    }
  }
  if (seen.owners.empty()) {
    seen.note = lock.owner != 0
                    ? "its owner is no thread of this process"
                    : "no thread is in a `with` of it, and a Lock keeps no "
                      "owner";
    tell_parent(lock, seen);
  }
  return seen;
}

// At a fork the child gets all of its memory, and one thread.
void LockReader::tell_parent(const PythonLock& lock, SeenLock& seen) const {
  const int parent = of_.status.ppid;
  if (!of_.forked_from(parent)) {
    return;
  }
  const auto theirs = of_.system.snapshot_before(
      parent, of_.system.deadline().capped(of_.system.deadline().left() / 4));
  const auto holders = theirs && *theirs != nullptr && (*theirs)->is_python()
                           ? holders_of(**theirs, lock)
                           : std::vector<PythonLockHolder>();
  if (holders.empty()) {
    seen.note +=
        fmt::format("; {} has forked this process, perhaps with it held",
                    process_text(parent));
  } else {
    seen.owner_in_parent = holders.front().thread->id;
    seen.note +=
        fmt::format("; {} of {} had it at the fork, and has it there",
                    holders.front().thread->who(), process_text(parent));
  }
}

const LockReader::Holders& LockReader::holders() const {
  if (!holders_) {
    holders_.emplace();
    for (const ThreadSnapshot* const one : of_.python_threads()) {
      for (const HeldPythonLock& held : hangdbg::held_by(of_, *one)) {
        auto& known = (*holders_)[held.lock.object];
        if (known.empty() || known.back().thread != one) {
          known.push_back({one, held.frame});
        }
      }
    }
  }
  return *holders_;
}

}  // namespace hangdbg
