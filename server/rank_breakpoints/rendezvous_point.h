// Where several ranks stop in the same round of a loop, although each is told
// of the breakpoint at another moment: from a collective on that none of them
// has begun when all have been told which. That is the ranks' own clock.
//
// Which of their groups a loop is in is not known, so one of each is
// named, and the first that is begun counts: it is the same one for all of
// them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "protocol/breakpoint.h"
#include "protocol/requests/process_groups.h"

namespace hangdbg {

// How far the first of some ranks is, by the group's name and device: in those
// groups that all of them are in, and count alike.
using CommonGroups =
    std::map<std::pair<std::string, std::string>, std::int64_t>;
CommonGroups common_groups(const std::vector<dap::ProcessGroups::Body>& ranks);

// Where none of them ever comes; empty: they cannot meet. To be told first.
std::vector<dap::Collective> never(const CommonGroups& groups);

// So far ahead that all can be told before one is there, judged by how far they
// went while they were told the last time.
std::vector<dap::Collective> rendezvous_point(const CommonGroups& before,
                                              const CommonGroups& now);

// Whether none has been there.
bool is_ahead(const std::vector<dap::Collective>& place,
              const CommonGroups& now);

}  // namespace hangdbg
