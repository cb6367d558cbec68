// The locks of SQLite: POSIX locks on bytes of the database file far behind its
// content, and of its -shm file where it keeps a write-ahead log
// (https://sqlite.org/lockingv3.html, https://sqlite.org/walformat.html).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"
#include "tracee/proc/file_locks.h"

namespace hangdbg {

enum class SqliteLock {
  Other,       // none of SQLite's, or one that blocks nothing
  Reads,       // SHARED: blocks writes to the file itself
  Checkpoint,  // of the log: blocks its checkpoint, too
  Writes,      // RESERVED, or the log's WRITE: one at a time
  Pending,     // is to write: blocks new readers
  Exclusive,   // writes: blocks all
};
// Of a lock on the database, or on its -shm file.
SqliteLock sqlite_lock_of(const FileLock& lock, bool shm);

struct LockedDatabase {
  std::string path;
  SqliteLock lock = SqliteLock::Other;  // the strongest that is held
  bool in_log = false;                  // on the -shm file
  std::vector<ThreadId> holders;        // holders, without this process
  bool own = false;  // this process holds it, and no other holds any

  std::string_view name() const;  // "EXCLUSIVE lock"
};

// Of the databases that the process has open, the one that others have locked
// most. With a write-ahead log, readers block no writer.
std::optional<LockedDatabase> locked_database(const ProcessSnapshot& of);

}  // namespace hangdbg
