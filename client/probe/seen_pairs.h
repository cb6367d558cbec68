// What a node sees of the others: the second question of a probe.
#pragma once

#include "base/deadline.h"
#include "base/result.h"
#include "protocol/reports/net_probe.h"

namespace hangdbg {

// `plan` may come from anywhere. Errors: BadMessage; System, where this node
// is none of the plan's, or its port is in use by now.
Result<reports::ProbeSeen> see_pairs(const reports::ProbePlan& plan,
                                     Deadline deadline);

// "n1:29500", "[fd00::1]:29500". Error: Usage.
struct ProbedService {
  std::string host;
  std::uint16_t port = 0;
};
Result<ProbedService> parse_service(const std::string& text);

}  // namespace hangdbg
