// What `hangdbg around --json` prints.
#pragma once

#include "inspector/host/host_context.h"
#include "protocol/json.h"

namespace hangdbg {

// One object; secrets are masked already.
Json around_json(const HostContext& around);

}  // namespace hangdbg
