// Getting in: from a pid to two open channels to the agent inside.
//
// Reads from top to bottom as the attach happens; docs/injection.md tells the
// same with what each step changes in the target and what undoes it.
#pragma once

#include <memory>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "injector/channels.h"
#include "injector/preflight.h"
#include "injector/steps.h"

namespace hangdbg {

struct Injection {
  std::unique_ptr<Target> target;  // as preflight saw it
  Channels channels;
  Steps steps;
};

// `agent_source` is the Python source that the bootstrap runs once.
// Errors: preflight's; NoSafeThread; NoRoom; TimedOut; TargetDied.
Result<Injection> inject(int pid,
                         std::string_view agent_source,
                         Deadline deadline);

}  // namespace hangdbg
