// Functions of the standard library in which a thread waits for others, told by
// the file that they are in.
#pragma once

#include <string_view>

namespace hangdbg {

// A thread whose innermost frame is there waits for other threads (join, a
// pool, a queue), and so is rarely the thread to look at.
bool is_stdlib_blocking_file(std::string_view file);

// The standard library, and what is installed beside it.
bool is_library(std::string_view file);

}  // namespace hangdbg
