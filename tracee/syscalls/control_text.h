// What fcntl(2) and ioctl(2) are given besides what is asked for, which tells
// what it is.
#pragma once

#include <cstdint>
#include <string>

#include "tracee/memory/memory.h"

namespace hangdbg {

bool fcntl_has_value(std::uint64_t command);
std::string fcntl_value_text(const MemoryReader& memory,
                             std::uint64_t command,
                             std::uint64_t value);

bool ioctl_has_value(std::uint64_t request);
// The call puts it there.
bool ioctl_fills_in(std::uint64_t request);
// The address, of requests whose structure is not known here.
std::string ioctl_value_text(const MemoryReader& memory,
                             std::uint64_t request,
                             std::uint64_t value);

}  // namespace hangdbg
