#include "diagnosis/waits/sqlite_locks.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace hangdbg {
namespace {

// os.h of SQLite: PENDING_BYTE and what follows it; os_unix.c: UNIX_SHM_BASE.
constexpr std::uint64_t kPendingByte = 0x40000000;
constexpr std::uint64_t kReservedByte = kPendingByte + 1;
constexpr std::uint64_t kSharedFirst = kPendingByte + 2;
constexpr std::uint64_t kSharedLast = kSharedFirst + 509;
constexpr std::uint64_t kShmBase = 120;
constexpr std::uint64_t kShmCheckpoint = kShmBase + 1;
constexpr std::uint64_t kShmFirstReader = kShmBase + 3;
constexpr std::uint64_t kShmLastReader = kShmBase + 7;

constexpr std::string_view kShm = "-shm";

bool covers(const FileLock& lock, std::uint64_t byte) {
  return lock.start <= byte && (!lock.end || *lock.end >= byte);
}

bool overlaps(const FileLock& lock, std::uint64_t first, std::uint64_t last) {
  return lock.start <= last && (!lock.end || *lock.end >= first);
}

bool is_lock_on(const FileLock& lock, const OpenFile& file) {
  return lock.inode == file.inode &&
         (makedev(lock.major, lock.minor) == file.device ||
          (lock.major == 0 && major(file.device) == 0));
}

// Locks of others count for more than this process's own.
void add_holder(const ProcessSnapshot& of,
                const FileLock& lock,
                SqliteLock kind,
                LockedDatabase& to) {
  const bool own = lock.pid == of.pid;
  const bool known = own == to.own || to.lock == SqliteLock::Other;
  if (known ? kind < to.lock : own) {
    return;
  }
  if (!known || kind > to.lock) {
    to.lock = kind;
    to.holders.clear();
  }
  to.own = own;
  const ThreadId id{lock.pid, lock.pid};
  if (!own && std::ranges::find(to.holders, id) == to.holders.end()) {
    to.holders.push_back(id);
  }
}

}  // namespace

std::string_view LockedDatabase::name() const {
  switch (lock) {
    case SqliteLock::Reads:
      return in_log ? "READ lock on the write-ahead log" : "SHARED lock";
    case SqliteLock::Checkpoint:
      return "CHECKPOINT lock on the write-ahead log";
    case SqliteLock::Writes:
      return in_log ? "WRITE lock on the write-ahead log" : "RESERVED lock";
    case SqliteLock::Pending:
      return "PENDING lock";
    case SqliteLock::Exclusive:
      return "EXCLUSIVE lock";
    case SqliteLock::Other:
      break;
  }
  return "lock";
}

SqliteLock sqlite_lock_of(const FileLock& lock, bool shm) {
  if (lock.type != "POSIX" && lock.type != "OFDLCK") {
    return SqliteLock::Other;
  }
  if (shm) {
    return lock.write && covers(lock, kShmBase)         ? SqliteLock::Writes
           : lock.write && covers(lock, kShmCheckpoint) ? SqliteLock::Checkpoint
           : overlaps(lock, kShmFirstReader, kShmLastReader)
               ? SqliteLock::Reads
               : SqliteLock::Other;
  }
  if (lock.start < kPendingByte || lock.start > kSharedLast) {
    return SqliteLock::Other;
  }
  if (overlaps(lock, kSharedFirst, kSharedLast)) {
    return lock.write ? SqliteLock::Exclusive : SqliteLock::Reads;
  }
  return covers(lock, kPendingByte)    ? SqliteLock::Pending
         : covers(lock, kReservedByte) ? SqliteLock::Writes
                                       : SqliteLock::Other;
}

std::optional<LockedDatabase> locked_database(const ProcessSnapshot& of) {
  const auto may_be = [&](const FileLock& lock) {
    return !lock.waits && lock.pid > 0 &&
           (sqlite_lock_of(lock, false) != SqliteLock::Other ||
            sqlite_lock_of(lock, true) != SqliteLock::Other);
  };
  const auto& locks = of.system.file_locks();
  if (std::ranges::none_of(locks, may_be)) {
    return {};
  }
  std::optional<LockedDatabase> most;
  const auto files = of.open_files();
  for (const OpenFile& file : files) {
    if (file.kind != FileKind::File && file.kind != FileKind::Memory) {
      continue;
    }
    const bool shm = file.name.ends_with(kShm);
    const bool logged =
        shm || std::ranges::any_of(files, [&](const OpenFile& other) {
          return other.name == file.name + std::string(kShm);
        });
    LockedDatabase one{
        .path = shm ? file.name.substr(0, file.name.size() - kShm.size())
                    : file.name};
    for (const FileLock& lock : locks) {
      if (!may_be(lock) || !is_lock_on(lock, file)) {
        continue;
      }
      const SqliteLock kind = sqlite_lock_of(lock, shm);
      const bool harmless = kind == SqliteLock::Other ||
                            (kind == SqliteLock::Reads && (logged && !shm)) ||
                            (kind == SqliteLock::Reads && lock.pid == of.pid);
      if (!harmless) {
        add_holder(of, lock, kind, one);
      }
    }
    if (one.lock != SqliteLock::Other &&
        (!most || (most->own && !one.own) ||
         (most->own == one.own && one.lock > most->lock))) {
      most = std::move(one);
    }
  }
  return most;
}

}  // namespace hangdbg
