// The environment variables of a process that decide how its libraries work:
// threads, GPUs, networks, ranks, where modules are looked for. Secrets among
// their values are masked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hangdbg {

struct EnvironmentVariable {
  std::string name;
  std::string value;
};

// By name. As they are now (environment.h): may wait for as long as the process
// is in state D. Errors: those of read_proc_file.
Result<std::vector<EnvironmentVariable>> read_variables(int pid);

bool matters(std::string_view name);

// None, if it is not set.
std::optional<std::string_view> value_of(
    const std::vector<EnvironmentVariable>& variables,
    std::string_view name);

}  // namespace hangdbg
