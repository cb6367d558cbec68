// What `dump --json` has written, perhaps on another machine: as much of it as
// is needed to merge it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/reports/dump.h"
#include "protocol/reports/error.h"

namespace hangdbg {

// "-" is standard input. Errors: System; BadMessage, with the place in it.
Result<std::vector<reports::DumpedProcess>> read_dump_file(
    const std::string& path);

}  // namespace hangdbg
