// What `hangdbg around --json` prints.
#pragma once

#include "inspector/host/surroundings.h"
#include "protocol/json.h"

namespace hangdbg {

// One object; secrets are masked already.
Json around_json(const Surroundings& around);

}  // namespace hangdbg
