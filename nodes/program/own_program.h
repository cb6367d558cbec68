// hangdbg itself, as it travels to a node where it is not.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace hangdbg {

// By what it is told from any other build, also where it was stripped: the
// linker's build ID, or else a hash of what is loaded. Hexadecimal digits.
std::string own_program_id();

// What is loaded of the file: without symbols and debug information.
std::size_t own_program_size();
// Error: System.
Result<std::string> read_own_program();

}  // namespace hangdbg
