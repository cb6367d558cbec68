// Bytes that a call reads or writes, and paths, in double quotes as C has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tracee/memory/memory.h"

namespace hangdbg {

// "\"a\\n\"", and "..." after it if there are more than these.
std::string quoted_bytes(std::string_view bytes, bool more = false);

// `size` bytes of the target, the first `most` of them shown; the address, if
// they cannot be read.
std::string bytes_text(const MemoryReader& memory,
                       Address at,
                       std::uint64_t size,
                       std::size_t most);

// A NUL-terminated one; "NULL" where there is none.
std::string path_text(const MemoryReader& memory, Address at);

// "NULL", "0x7f31c02a0e40".
std::string pointer_text(std::uint64_t value);

}  // namespace hangdbg
