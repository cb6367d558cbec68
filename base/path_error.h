// A file that cannot be read, written or run: why, and what to type next.
#pragma once

#include <expected>
#include <string>

#include "base/error.h"

namespace hangdbg {

// All of id Usage. `error_number`: errno(3) of the call that failed.
std::unexpected<Error> cannot_read(const std::string& path, int error_number);
std::unexpected<Error> cannot_write(const std::string& path, int error_number);

// As execvp(3) looks for it.
std::unexpected<Error> cannot_run(const std::string& name, int error_number);

}  // namespace hangdbg
