// Where hangdbg itself runs: on a machine, in a container, in a pod. What gives
// the right to trace differs, and so does the command to type.
#pragma once

#include <string>

namespace hangdbg {

enum class Containment { Machine, Container, Pod };

Containment containment();

// The command that enters as a user who may trace `pid` (a number, or "PID").
std::string way_to_more_rights(Containment where, const std::string& pid);

}  // namespace hangdbg
