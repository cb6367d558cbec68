#include "server/rank_breakpoints/original_timeouts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>

namespace hangdbg {
namespace {

constexpr std::string_view kGloo = "ProcessGroupGloo";
// torch/distributed/distributed_c10d.py
constexpr std::array<std::string_view, 7> kToOneOther = {"send",
                                                         "recv",
                                                         "isend",
                                                         "irecv",
                                                         "batch_isend_irecv",
                                                         "send_object_list",
                                                         "recv_object_list"};

std::int64_t begun_in(const dap::ProcessGroups::Body& groups) {
  std::int64_t begun = 0;
  for (const auto& one : groups.groups) {
    begun += one.sequence.value_or(0);
  }
  return begun;
}

}  // namespace

void CollectivesWithOriginalTimeout::begin(
    int rank,
    const dap::ProcessGroups::Body& groups) {
  for (const auto& one : groups.groups) {
    Group& group = groups_[{one.name, one.backend, one.ranks}];
    group.begun = std::max(group.begun, one.sequence.value_or(0));
    const std::chrono::milliseconds timeout(one.timeout_ms.value_or(0));
    group.timeout =
        group.now.empty() ? timeout : std::min(group.timeout, timeout);
    group.now[rank] = one.sequence.value_or(0);
  }
  // The first time counts: later it may be in the next one.
  if (!groups.inside.empty() && !groups.groups.empty()) {
    calls_.try_emplace(rank, groups.inside.front().function, begun_in(groups));
  }
}

void CollectivesWithOriginalTimeout::look(
    int rank,
    const dap::ProcessGroups::Body& groups) {
  if (const auto call = calls_.find(rank);
      call != calls_.end() &&
      (groups.inside.empty() || begun_in(groups) != call->second.begun)) {
    calls_.erase(call);
  }
  // A group that has been destroyed has nothing under way.
  for (auto& [key, group] : groups_) {
    group.now.erase(rank);
  }
  for (const auto& one : groups.groups) {
    const auto found = groups_.find({one.name, one.backend, one.ranks});
    if (found != groups_.end()) {
      found->second.now[rank] = one.sequence.value_or(0);
    }
  }
}

std::vector<OldCollective> CollectivesWithOriginalTimeout::pending() const {
  std::vector<OldCollective> pending;
  RankSet named;
  for (const auto& [key, group] : groups_) {
    if (is_apart(group)) {
      continue;
    }
    OldCollective one{
        .group = fmt::format("group {}", std::get<0>(key)),
        .number = group.begun,
        .timeout = group.timeout,
    };
    for (const auto& [rank, sequence] : group.now) {
      (sequence < group.begun ? one.awaited : one.inside).add(rank);
    }
    if (!one.awaited.empty()) {
      named.add(one.inside);
      named.add(one.awaited);
      pending.push_back(std::move(one));
    }
  }
  for (const auto& [rank, call] : calls_) {
    if (!named.contains(rank)) {
      OldCollective one{.group = call.function};
      one.inside.add(rank);
      pending.push_back(std::move(one));
    }
  }
  return pending;
}

std::string CollectivesWithOriginalTimeout::apart() const {
  const auto found = std::ranges::find_if(
      groups_, [](const auto& one) { return is_apart(one.second); });
  return found == groups_.end() ? "" : std::get<0>(found->first);
}

bool CollectivesWithOriginalTimeout::is_apart(const Group& group) {
  if (group.now.empty()) {
    return false;
  }
  const auto [least, most] =
      std::ranges::minmax(group.now | std::views::values);
  return most - least > kMostApart;
}

std::string unraised(const dap::ProcessGroups::Body& groups) {
  for (const auto& one : groups.groups) {
    if (!one.raised_to_ms) {
      return fmt::format("the timeout of group {} ({}) cannot be changed: {}",
                         one.name, one.backend,
                         one.problem.value_or("it was not asked for"));
    }
  }
  return {};
}

std::string with_fixed_timeout(const dap::ProcessGroups::Body& groups) {
  const bool gloo = std::ranges::any_of(
      groups.groups, [](const auto& one) { return one.backend == kGloo; });
  for (const auto& inside : groups.inside) {
    if (gloo && std::ranges::count(kToOneOther, inside.function) > 0) {
      return inside.function;
    }
  }
  return {};
}

}  // namespace hangdbg
