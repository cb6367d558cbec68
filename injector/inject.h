// Getting in: from a pid to two open channels to the agent inside.
//
// Reads from top to bottom as the attach happens; docs/injection.md tells the
// same with what each step changes in the target and what undoes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "injector/channels.h"
#include "injector/checks/preflight.h"
#include "injector/steps.h"

namespace hangdbg {

// What the bootstrap runs once in the target.
struct AgentProgram {
  std::string_view source;  // Python
  // The same compiled, by the interpreter of this minor version; may be empty.
  struct Compiled {
    std::uint32_t magic = 0;
    std::string_view code;
  };
  std::function<Compiled(int minor)> compiled;
};

struct Injection {
  std::unique_ptr<AttachTarget> target;  // as preflight saw it
  Channels channels;
  Steps steps;
};

// Errors: preflight's; NoSafeThread; NoRoom; TimedOut; TargetDied.
Result<Injection> inject(int pid, const AgentProgram& agent, Deadline deadline);

// What the target's seccomp filter leaves to us. Where it has to be read, a
// thread is stopped for that, and nothing else happens to it.
Result<AllowedCalls> ask_filter(const AttachTarget& target, Deadline deadline);

}  // namespace hangdbg
