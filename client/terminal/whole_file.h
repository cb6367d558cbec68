// A file that is written as a whole.
#pragma once

#include <string>

#include "base/result.h"

namespace hangdbg {

// The file is there as a whole, or as it was before; "-" is standard output.
// Errors: Usage, where it cannot be written.
Status write_whole_file(const std::string& path, const std::string& text);

}  // namespace hangdbg
