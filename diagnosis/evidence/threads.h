// What each thread of a process does, as far as the kernel and its memory tell:
// the facts behind `hangdbg threads`. No code runs in the process, and nothing
// is stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "diagnosis/evidence/awaited_lock.h"
#include "diagnosis/snapshot/cause.h"
#include "diagnosis/waits/awaited_call.h"
#include "tracee/net/descriptors.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {

struct CodePlace {
  std::string function;
  std::string file;
  int line = 0;
};

struct SeenThread {
  ThreadId id;
  std::string name;                   // Python's; "" if it has none
  std::string comm;                   // the kernel's
  SchedStats runs;                    // before it was sampled
  char state = '?';                   // R S D T t Z X
  std::string doing;                  // "asleep in futex for 3 min"
  std::optional<double> asleep_s;     // not run since
  double cpu_s = 0;                   // all that it has used
  std::optional<double> cpu_percent;  // now, of one that runs Python
  int cpu = 0;                        // on which it ran last
  std::string cpus_allowed;           // "0-7"
  bool pinned = false;  // to fewer than the main thread, or main to fewer than
                        // this machine has
  int nice = 0;
  std::string policy;  // "FIFO", "BATCH", ...; "" if usual
  std::string wchan;   // where it sleeps in the kernel; "" if unknown
  std::string call;    // its system call; "" when it is in none
  std::vector<std::string> arguments;
  std::vector<Descriptor> files;  // those that the call waits for or is given
  std::optional<SeenLock> lock;   // that it waits for
  std::optional<CollectiveCall> collective;  // the same
  std::vector<std::string> pending;          // signals for it alone
  std::vector<std::string> blocked;
  std::optional<int> tracer;  // its debugger
  bool python = false;        // it runs Python
  bool has_gil = false;
  std::optional<CodePlace> place;  // its innermost Python frame
  std::optional<CodePlace> own;    // that of the program itself
};

struct SeenThreads {
  int pid = 0;
  std::string title;                 // "process 79655 (python train.py)"
  std::string python;                // "3.11.7"; "" of one that is none
  std::optional<SeenLock> gil;       // if it is held
  std::vector<std::string> pending;  // signals for any of them
  std::vector<SeenThread> threads;   // main first, then by number
  std::size_t unseen_pipes = 0;      // processes whose pipes are unknown
  std::vector<std::string> skipped;  // what could not be seen, and why
};

// Also for processes without Python, and for those whose memory does not
// answer: only what the kernel knows. Errors: NoSuchProcess, NotPermitted.
Result<SeenThreads> see_threads(int pid, Deadline deadline);

// From one sample only: a fifth of a second faster where threads have just run,
// without their CPU usage.
Result<SeenThreads> see_threads_at_once(int pid, Deadline deadline);

}  // namespace hangdbg
