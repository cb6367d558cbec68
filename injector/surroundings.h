// Where hangdbg itself runs: on a machine, in a container, in a pod. What gives
// the right to trace differs, and so does the command to type.
#pragma once

#include <string>

namespace hangdbg {

enum class Surroundings { Machine, Container, Pod };

Surroundings surroundings();

// The command that gets somebody in who may trace `pid` (a number, or "PID").
std::string way_to_more_rights(Surroundings where, const std::string& pid);

}  // namespace hangdbg
