// The output of an external program, with a time limit: nvidia-smi may hang
// with the driver that it queries.
#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"

namespace hangdbg {

// Its standard output, up to a MiB; what it says on stderr is dropped. It is
// found in PATH, and killed when time is up; one that cannot be killed, in
// state D, is left behind. Errors: System, where there is no such program, or
// it fails; TimedOut.
Result<std::string> output_of(const std::vector<std::string>& words,
                              Deadline deadline);

}  // namespace hangdbg
