// The start of a thread's wait that continued after a stop by us: the kernel
// tells of the thread's last run only, and that was ours.
//
// The process that stopped it notes the wait in its user's own folder, for
// later runs: $XDG_RUNTIME_DIR/hangdbg, /run/hangdbg of root, else
// /tmp/hangdbg-UID. One small file a thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tracee/proc/proc_tasks.h"

namespace hangdbg {

struct KeptWait {
  std::uint64_t started = 0;  // the thread, in the kernel's ticks after boot
  std::string boot;           // the kernel's number for it
  TaskSyscall call;           // as it is entered again
  std::uint64_t switches =
      0;               // how often it gave its CPU away, up to this wait
  double began_s = 0;  // on the monotonic clock

  bool operator==(const KeptWait&) const = default;
};

// How often the thread gave its CPU away of its own accord. A thread in `call`
// that has the same number again has not run since: that a thread was woken
// before it had left its CPU is in no other number of the kernel's.
std::optional<std::uint64_t> voluntary_switches(int pid, int tid);

std::string boot_id();

// Best effort: a folder that others could write to is not used. Notes of
// threads that have ended are removed.
void note_wait(int tid, const KeptWait& wait);

// Since when the thread waits in the call that it is in now, if that was noted
// and it has not run since; on the monotonic clock.
std::optional<double> noted_wait_s(int pid,
                                   int tid,
                                   const TaskStat& stat,
                                   const TaskSyscall& call);

// As a file has it. Empty: no such text.
std::string text_of(const KeptWait& wait);
std::optional<KeptWait> parse_kept_wait(const std::string& text);

}  // namespace hangdbg
