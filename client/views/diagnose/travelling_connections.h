// The connections of a rank, as they travel from a node and back.
#pragma once

#include <string>

#include "base/result.h"
#include "protocol/reports/node_diagnosis.h"
#include "tracee/net/connections.h"

namespace hangdbg {

reports::EvidenceConnections travel(const Connections& from);

// Of `host`, whose loopback is no other machine's. Errors: BadMessage.
Result<Connections> back(const reports::EvidenceConnections& from,
                         const std::string& host);

}  // namespace hangdbg
