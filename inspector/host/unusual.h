// What is unusual around a process, a line each; none of one that is well.
#pragma once

#include <string>
#include <vector>

#include "inspector/host/host_context.h"

namespace hangdbg {

// As the target names things, untrusted: the caller escapes them.
std::vector<std::string> environment_warnings(const HostContext& around);

}  // namespace hangdbg
