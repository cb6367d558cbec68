// The processes that have an end of a pipe open, how they came by it, and
// whether they are to use it: whoever is forked has each end that its parent
// had, and an end that nobody uses keeps a reader waiting all the same.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"
#include "tracee/proc/open_files.h"

namespace hangdbg {

struct PipeHolder {
  int pid = 0;
  std::vector<int> fds;
  // The process from which it has them by fork(2), with no program begun since;
  // 0: that cannot be seen.
  int inherited_from = 0;
  // A process that multiprocessing has forked, and whose target got no
  // connection.
  bool not_passed = false;
};

struct PipeHolders {
  std::vector<int> own;  // descriptors of the process that waits
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

// Each of the processes that has it open to write has one thread, which reads
// that pipe itself.
bool all_read_it(const ProcessSnapshot& of,
                 const OpenFile& pipe,
                 const PipeHolders& writers);

// By the parents that there are now: one whose parent has ended is none any
// more.
bool is_descendant(SystemSnapshot& system, int pid, int of);

}  // namespace hangdbg
