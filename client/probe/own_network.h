// What a node tells of its own network: the first question of a probe.
#pragma once

#include "base/deadline.h"
#include "base/result.h"
#include "protocol/reports/net_probe.h"

namespace hangdbg {

// Errors: System.
Result<reports::OwnNetwork> read_own_network(Deadline deadline);

}  // namespace hangdbg
