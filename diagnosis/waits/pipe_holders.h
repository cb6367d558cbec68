// The processes that have an end of a pipe open, how they got it, and whether
// they use it: a forked process inherits each end of its parent, and even an
// unused end makes a reader wait.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"
#include "tracee/proc/open_files.h"

namespace hangdbg {

struct PipeHolder {
  int pid = 0;
  std::vector<int> fds;
  // The process from which it inherited them by fork(2), without an exec since;
  // 0: unknown.
  int inherited_from = 0;
  // A process forked by multiprocessing whose target got no connection.
  bool not_passed = false;
};

struct PipeHolders {
  std::vector<int> own;  // descriptors of the waiting process
  std::vector<PipeHolder> others;
  bool all_single = true;               // each of the others has one thread
  std::vector<ThreadId> mains() const;  // of the others
};

// Those that have the write end or the read end open.
PipeHolders pipe_holders(const ProcessSnapshot& of,
                         const OpenFile& pipe,
                         bool writers);

// "process 13 (python3) has the write end open as fd 4, inherited from process
// 10 by fork: asleep in clock_nanosleep at work.py:9 in idle"
std::string describe_holder(SystemSnapshot& system,
                            const PipeHolder& holder,
                            bool writes);

// Each process that has the write end open has one thread, which reads that
// pipe itself.
bool all_read_it(const ProcessSnapshot& of,
                 const OpenFile& pipe,
                 const PipeHolders& writers);

// By current parents: a process is no descendant once its parent has ended.
bool is_descendant(SystemSnapshot& system, int pid, int of);

}  // namespace hangdbg
