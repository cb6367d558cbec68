// A process of ours with its three streams: a launcher, or the command that a
// node is to run. It ends when we do.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/result.h"

namespace hangdbg {

struct NodeChild {
  pid_t pid = 0;
  Fd in, out, err;  // our ends; none blocks
};

// `program`: searched for in PATH, or a path. In a process group of its own;
// killed by `end_signal` when the thread that has started it ends. Without
// `with_input` it reads /dev/null. Errors: System, with the program's name;
// TimedOut.
Result<NodeChild> start_child(const std::string& program,
                              std::vector<std::string> words,
                              std::vector<std::string> variables,
                              int end_signal,
                              bool with_input);

// Ours, without those that steer a hangdbg: for a launcher.
std::vector<std::string> launcher_variables();

// What came by now; the descriptor is closed at the stream's end.
std::string read_available(Fd& from);

// Its exit code, 128 + signal of one that was killed; none while it runs.
std::optional<int> reap_child(NodeChild& child);

// Sends its group `signal`, waits, and kills it at the deadline.
void end_child(NodeChild& child, int signal, Deadline deadline);

}  // namespace hangdbg
