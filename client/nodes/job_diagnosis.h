// `diagnose --via HOW`: each node tells of its ranks, and the cause of the
// whole job is found here, by the rules of one machine.
#pragma once

#include "client/nodes/gather.h"

namespace hangdbg {

struct NodesDiagnosisOptions {
  const ViaOption& via;
  const CommonOptions& common;
  double hung_after_s;
  bool exit_state;
};

// The exit code.
Result<int> diagnose_nodes(const NodesDiagnosisOptions& options);

}  // namespace hangdbg
