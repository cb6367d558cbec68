#include "diagnosis/evidence/locks.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "diagnosis/evidence/deadlock_cycles.h"
#include "diagnosis/snapshot/process_snapshot.h"
#include "tracee/proc/file_locks.h"
#include "tracee/proc/open_files.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

// If the lock is already known, fills in what that entry lacks.
KnownLock& add(SeenLocks& all, SeenLock lock);
void add_file_locks(const ProcessSnapshot& of, SeenLocks& all);

LockWaiter waiter(const ThreadSnapshot& thread) {
  return {thread.id, thread.who(), describe(thread.wait), thread.place(),
          thread.wait.asleep_s};
}

}  // namespace

Result<SeenLocks> see_locks(int pid, Deadline deadline) {
  const ProcStatus status = TRY(read_status(pid));
  SeenLocks all{.pid = pid};
  const auto system = SystemSnapshot::make(deadline);
  system->may_stop = false;
  const ProcessSnapshot& of =
      *TRY(system->snapshot_before(pid, deadline.capped(deadline.left() / 2)));
  all.title = of.title();
  if (of.is_python()) {
    all.python = of.process().python.version.text();
  }
  if (!of.unread.empty()) {
    all.skipped.push_back(of.unread);
  }
  if (status.state == 'D') {
    all.skipped.emplace_back(
        "its memory, and so its locks there: it is in uninterruptible sleep, "
        "and who reads might wait likewise");
  }
  const LockReader locks(of);
  if (auto gil = locks.gil()) {
    add(all, *std::move(gil));
  }
  for (const ThreadSnapshot& thread : of.threads) {
    if (deadline.expired()) {
      all.skipped.emplace_back("the locks of some threads: time was up");
      break;
    }
    for (SeenLock& held : locks.held_by(thread)) {
      add(all, std::move(held));
    }
    if (auto awaited = locks.awaited_by(thread)) {
      add(all, *std::move(awaited)).waiters.push_back(waiter(thread));
    }
  }
  add_file_locks(of, all);
  all.circles = deadlock_cycles(of, locks);
  std::ranges::stable_sort(
      all.locks, {}, [](const KnownLock& one) { return one.waiters.empty(); });
  all.skipped.insert(all.skipped.end(), system->skipped().begin(),
                     system->skipped().end());
  return all;
}

namespace {

KnownLock& add(SeenLocks& all, SeenLock lock) {
  const auto known = std::ranges::find_if(all.locks, [&](const KnownLock& one) {
    return one.lock.key == lock.key;
  });
  if (known == all.locks.end()) {
    return all.locks.emplace_back(KnownLock{std::move(lock), {}});
  }
  if (known->lock.name.empty()) {
    known->lock.name = std::move(lock.name);
  }
  return *known;
}

// The file locks that it holds by a descriptor, and their other waiters
// (proc_locks(5)).
void add_file_locks(const ProcessSnapshot& of, SeenLocks& all) {
  const auto open = read_open_files(of.pid);
  if (!open) {
    all.skipped.push_back("file locks: " + open.error().text());
    return;
  }
  const auto& of_machine = of.system.file_locks();
  for (const OpenFile& file : open->files) {
    if (file.locks.empty()) {
      continue;
    }
    const auto info =
        read_proc_record(of.pid, fmt::format("fdinfo/{}", file.fd));
    for (const std::string_view line :
         split(info ? std::string_view(*info) : "", '\n')) {
      const auto held = line.starts_with("lock:")
                            ? parse_file_locks(trim(line.substr(5)))
                            : std::vector<FileLock>();
      if (held.empty()) {
        continue;
      }
      const FileLock& lock = held.front();
      KnownLock& known =
          add(all, {.kind = LockKind::File,
                    .key = fmt::format("file {:x}:{:x}:{}", lock.major,
                                       lock.minor, lock.inode),
                    .name = file.name});
      known.lock.note = fmt::format("{} {} lock, by descriptor {}", lock.type,
                                    lock.write ? "write" : "read", file.fd);
      if (known.lock.owners.empty()) {
        known.lock.owners.push_back({.id = {of.pid, of.pid},
                                     .who = process_text(of.pid),
                                     .state = "",
                                     .place = ""});
      }
      for (const FileLock& other : of_machine) {
        const bool waits = other.waits && other.inode == lock.inode &&
                           other.major == lock.major &&
                           other.minor == lock.minor && other.pid > 0 &&
                           other.pid != of.pid;
        const auto wait = waits ? sample_wait(other.pid, other.pid)
                                : std::unexpected(Error());
        const bool there = std::ranges::any_of(
            known.waiters,
            [&](const LockWaiter& one) { return one.id.pid == other.pid; });
        if (waits && !there) {
          known.waiters.push_back({{other.pid, other.pid},
                                   process_text(other.pid),
                                   wait ? describe(*wait) : "",
                                   "",
                                   wait ? wait->asleep_s : std::nullopt});
        }
      }
    }
  }
}

}  // namespace
}  // namespace hangdbg
