// How a target went away under a session, in one line for a person.
#pragma once

#include <optional>

#include "base/error.h"
#include "injector/checks/preflight.h"

namespace hangdbg {

// The channels are closed: the process has ended, has started another program,
// or is still there and the agent has left it (it closed our descriptors, or
// Python has ended). Waits a moment for an end that is under way.
Error explain_loss(const AttachTarget& target);

// A process that has ended: with what, until its parent reaps it.
Error explain_end(int pid);

// The exit code, if that is how it ended and until its parent reaps it.
std::optional<int> exit_code_of(int pid);

// The exit code, or 128 and the signal, of one that is not our child and that
// the descriptor says has ended; also when its parent has reaped it, from
// Linux 6.15 on.
std::optional<int> code_of_another(int pid, int pidfd);

}  // namespace hangdbg
