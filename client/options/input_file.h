// A file that the command line names, read whole.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace hangdbg {

// "-" is standard input. Errors: System; BadMessage, where it is larger than
// `most` bytes.
Result<std::string> read_input(const std::string& path, std::size_t most);

}  // namespace hangdbg
