// All variables of a live process, as environment.h finds single ones.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hangdbg {

// "NAME=value", each, and what else the program has put there. As
// Environment::read.
Result<std::vector<std::string>> read_environment(int pid);

}  // namespace hangdbg
