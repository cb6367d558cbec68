// What is unusual around a process, a line each; none of one that is well.
#pragma once

#include <string>
#include <vector>

#include "inspector/host/surroundings.h"

namespace hangdbg {

// As the target names things: whoever prints it makes it safe.
std::vector<std::string> unusual_around(const Surroundings& around);

}  // namespace hangdbg
