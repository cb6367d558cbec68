// The arguments of a system call in words: descriptors with what they lead to,
// times as durations, the operation of a futex.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tracee/memory/memory.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {

// One text an argument: "5 (socket:[1234])", "0x7f31c02a0e40",
// "WAIT_BITSET_PRIVATE", "58.3 s". None for a call that is not known here.
// `pid` is empty for a process that is no more: then descriptors are numbers.
std::vector<std::string> syscall_arguments(std::optional<int> pid,
                                           const MemoryReader& memory,
                                           const TaskSyscall& call);

}  // namespace hangdbg
