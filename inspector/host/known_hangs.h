// Versions of libraries that are known to hang, as they are used here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inspector/host/libraries.h"
#include "inspector/host/variables.h"

namespace hangdbg {

// "NCCL 2.14.3 hangs under CUDA_LAUNCH_BLOCKING=1 (NVIDIA/nccl#750); ...".
std::vector<std::string> known_hangs(
    const std::vector<Library>& libraries,
    const std::vector<EnvironmentVariable>& variables);

// Whether a version, "2.14.3+cuda11.7", comes before another: "2.17".
bool comes_before(std::string_view version, std::string_view other);

}  // namespace hangdbg
