// What a process's descriptors lead to: files, the two ends of a connection,
// and the processes at the other end of a pipe.
#pragma once

#include <optional>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "tracee/net/tcp_sockets.h"
#include "tracee/proc/open_files.h"

namespace hangdbg {

struct Descriptor {
  OpenFile file;
  std::optional<TcpSocket> tcp;
  // Of a pipe: what can do the opposite with it; the process itself may, too.
  std::vector<PipeEnd> other_ends;
};

struct Descriptors {
  std::vector<Descriptor> descriptors;  // by number
  bool complete = true;                 // false: there are more than we read
  // Processes whose pipes could not be read: no permission, or not in time.
  std::size_t unseen = 0;
};

// All processes are looked at where there is a pipe. Errors: those of
// read_open_files.
Result<Descriptors> read_descriptors(int pid, Deadline deadline);

}  // namespace hangdbg
