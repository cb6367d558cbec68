// How busy the machine is around a process, and how much of it that may use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "inspector/host/host_context.h"

namespace hangdbg {

Machine read_machine(int pid);

// Of all its processes: what RLIMIT_NPROC is about.
std::size_t count_user_threads(unsigned uid);

}  // namespace hangdbg
