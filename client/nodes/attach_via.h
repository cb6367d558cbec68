// `attach --via HOW`: the prompt runs on the node that has the rank, with our
// terminal, which the launcher carries.
#pragma once

#include <string>

#include "base/result.h"
#include "client/nodes/gather.h"
#include "client/options/job_options.h"

namespace hangdbg {

struct AttachViaOptions {
  const ViaOption& via;
  const CommonOptions& common;
  const JobOptions& job;
  std::string pid;  // as typed; "" where --ranks names one
};

// Becomes the launcher: returns only if there is nothing to attach to. Errors:
// Usage, NoSuchRank, NoSuchProcess, NodeFailed.
Result<int> attach_on_node(const AttachViaOptions& options);

}  // namespace hangdbg
