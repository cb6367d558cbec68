// What is written into the region: the bootstrap's text, HdRegion and the
// agent.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "injector/bootstrap/shared.h"
#include "injector/checks/preflight.h"
#include "injector/checks/target_calls.h"
#include "injector/inject.h"
#include "injector/stub/borrowed_thread.h"

namespace hangdbg {

// What goes into the region, and where it went.
struct AgentImage {
  RegionPlan plan;
  std::vector<std::byte> text;
  HdRegion region{};
  std::vector<std::byte> agent;  // from HD_AGENT_OFFSET on
};

Result<AgentImage> make_image(const AttachTarget& target,
                              const AgentProgram& agent,
                              bool use_pipes);
HdRegion without(HdRegion region, const AllowedCalls& allowed);

}  // namespace hangdbg
