// Is our agent in the target already? One agent serves all clients of a
// target; a second hangdbg connects by its rendezvous pipe instead of injecting
// another.
#pragma once

#include <optional>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "injector/channels.h"
#include "injector/checks/preflight.h"

namespace hangdbg {

// Where the agent's HdRegion is; empty when there is no agent.
// Errors: OtherVersion when it is of another hangdbg.
Result<std::optional<Address>> find_agent(const AttachTarget& target);

// The images of agents that have gone, but not their regions: threads of the
// program had them on their stacks, or were perhaps on their way there, and now
// are not.
std::vector<Address> find_left_images(const AttachTarget& target);

// Asks it for channels of our own. Errors: ChannelClosed when it was about to
// leave (then inject), those of take_channels.
Result<Channels> join_agent(const AttachTarget& target,
                            Address region,
                            const FdFetcher& fetcher,
                            Deadline deadline);

}  // namespace hangdbg
