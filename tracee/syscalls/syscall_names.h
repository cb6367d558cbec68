// The names of system calls (syscalls(2)), as x86-64 numbers them. Of a number:
// syscall_name (proc_tasks.h).
#pragma once

#include <optional>
#include <string_view>

namespace hangdbg {

std::optional<long> syscall_number(std::string_view name);

}  // namespace hangdbg
