#include "server/rank_breakpoints/rendezvous_point.h"

#include <algorithm>

#include "server/rank_breakpoints/original_timeouts.h"

namespace hangdbg {

CommonGroups common_groups(const std::vector<dap::ProcessGroups::Body>& ranks) {
  std::map<std::pair<std::string, std::string>, std::vector<std::int64_t>> all;
  for (const auto& rank : ranks) {
    for (const auto& group : rank.groups) {
      if (group.sequence) {
        all[{group.name, group.device}].push_back(*group.sequence);
      }
    }
  }
  CommonGroups common;
  for (const auto& [group, numbers] : all) {
    const auto [least, most] = std::ranges::minmax(numbers);
    if (numbers.size() == ranks.size() &&
        most - least <= CollectivesWithOriginalTimeout::kMostApart) {
      common[group] = most;
    }
  }
  return common;
}

std::vector<dap::Collective> never(const CommonGroups& groups) {
  std::vector<dap::Collective> place;
  for (const auto& [group, number] : groups) {
    place.push_back({group.first, group.second, std::int64_t{1} << 60});
  }
  return place;
}

std::vector<dap::Collective> rendezvous_point(const CommonGroups& before,
                                              const CommonGroups& now) {
  std::vector<dap::Collective> place;
  for (const auto& [group, number] : now) {
    const auto known = before.find(group);
    const std::int64_t went =
        known == before.end() ? 0 : number - known->second;
    place.push_back({group.first, group.second, number + 1 + 4 * went});
  }
  return place;
}

bool is_ahead(const std::vector<dap::Collective>& place,
              const CommonGroups& now) {
  return std::ranges::all_of(place, [&](const dap::Collective& one) {
    const auto found = now.find({one.group, one.device});
    return found == now.end() || found->second < one.number;
  });
}

}  // namespace hangdbg
