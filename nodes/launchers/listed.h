// What a launcher's own tool prints when it is asked for its nodes.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hangdbg {

// Its standard output, in at most ten seconds. Errors: System, with what it has
// said on standard error.
Result<std::string> output_of(const std::vector<std::string>& words);

}  // namespace hangdbg
