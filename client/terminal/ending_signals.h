// The signals that would end or stop us, for a command that has something to
// finish first: a recording to write, a terminal to restore.
#pragma once

#include <csignal>
#include <span>

#include "base/fd.h"

namespace hangdbg {

// From now on those that end us are read from the descriptor (as
// signalfd_siginfo), but for those that are ignored: nohup(1) has begun us.
// Those that stop us at Ctrl-Z are blocked: a tracer that has stopped a thread
// must not stop itself. In threads that are started later, too.
Fd take_ending_signals();

// Starts `program`, as posix_spawnp(3) finds it, with `mask` for its signals
// and SIGPIPE as it was: 0, or errno(3). `words` ends with a nullptr.
int spawn_with_signals(const char* program,
                       std::span<char*> words,
                       const sigset_t& mask,
                       int& pid);

// Waits for one of them, for so long at most.
bool ending_signal_came(const Fd& from, int milliseconds);

}  // namespace hangdbg
