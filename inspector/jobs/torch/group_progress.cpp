#include "inspector/jobs/torch/group_progress.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace hangdbg {
namespace {

using Key = std::tuple<std::string, std::vector<int>, std::string>;

// Collectives that are begun one behind the other, and waited for together:
// the buckets of a large model's gradients are some dozens.
constexpr std::int64_t kMostApart = 200;

// No rank completes one of these before all have begun it. The names are those
// of torch's opTypeToString.
bool waits_for_all(std::string_view name) {
  return name.starts_with("ALL") || name.starts_with("_ALL") ||
         name.starts_with("REDUCE_SCATTER") || name.starts_with("BARRIER");
}

std::optional<GroupStep> step_of(const GroupBackend& backend) {
  GroupStep step;
  if (backend.has_status) {
    step.over = true;
  }
  if (backend.enqueued) {
    const std::int64_t completed =
        backend.completed ? backend.completed->number : 0;
    step.begun = backend.enqueued->number;
    step.name = backend.enqueued->name;
    step.over = completed >= step.begun;
    if (!*step.over && backend.started) {
      step.started = backend.started->number >= step.begun;
    }
    // What was sent and received is among them, or all are collectives.
    if (backend.collectives == static_cast<std::uint64_t>(step.begun)) {
      step.pending = std::max<std::int64_t>(step.begun - completed, 0);
    }
  } else if (!backend.has_status && backend.begun) {
    step.begun = static_cast<std::int64_t>(*backend.begun);
  } else if (!backend.has_status && !backend.collectives) {
    return std::nullopt;
  }
  if (backend.collectives) {
    step.begun = static_cast<std::int64_t>(*backend.collectives);
  }
  return step;
}

void add_rank(GroupProgress& group,
              int rank,
              const std::optional<GroupStep>& step) {
  if (!step) {
    group.uncounted.add(rank);
    return;
  }
  const auto same =
      std::ranges::find_if(group.steps, [&](const GroupStep& one) {
        return one.begun == step->begun && one.over == step->over &&
               one.started == step->started && one.pending == step->pending &&
               one.name == step->name;
      });
  auto& into =
      same != group.steps.end() ? *same : group.steps.emplace_back(*step);
  into.ranks.add(rank);
}

bool is_apart(const std::vector<GroupStep>& steps, bool exact) {
  const auto [least, most] =
      std::ranges::minmax_element(steps, {}, &GroupStep::begun);
  if (least == steps.end()) {
    return false;
  }
  return (!exact && most->begun - least->begun > kMostApart) ||
         std::ranges::any_of(steps, [least](const GroupStep& step) {
           return step.over == true && step.begun > least->begun &&
                  waits_for_all(step.name);
         });
}

}  // namespace

RankSet GroupProgress::behind() const {
  RankSet behind;
  for (const GroupStep& step : steps) {
    if (!apart && step.begun < steps.front().begun) {
      behind.add(step.ranks);
    }
  }
  return behind;
}

RankSet GroupProgress::mismatched() const {
  std::map<std::string, RankSet> by_name;
  for (const GroupStep& step : steps) {
    if (!apart && step.begun == steps.front().begun && step.over == false &&
        !step.name.empty()) {
      by_name[step.name].add(step.ranks);
    }
  }
  const auto most = std::ranges::max_element(
      by_name, {}, [](const auto& one) { return one.second.size(); });
  RankSet mismatched;
  for (auto one = by_name.begin(); one != by_name.end(); ++one) {
    if (one != most) {
      mismatched.add(one->second);
    }
  }
  return mismatched;
}

std::vector<GroupProgress> group_progress(
    const std::vector<GroupsOfRank>& ranks) {
  std::map<Key, GroupProgress> groups;
  for (const auto& [rank, of_rank] : ranks) {
    for (const ProcessGroup& group : of_rank->groups) {
      auto backends = group.backends;
      if (backends.empty()) {
        backends.emplace_back();
      }
      for (const GroupBackend& backend : backends) {
        GroupProgress& into = groups[{group.name, group.ranks, backend.type}];
        into.name = group.name;
        into.backend = group.backend;
        into.backend_type = backend.type;
        into.is_default = into.is_default || group.is_default;
        into.ranks = group.ranks;
        into.exact = into.exact && backend.collectives.has_value();
        add_rank(into, rank, step_of(backend));
      }
    }
  }
  std::vector<GroupProgress> found;
  for (auto& [key, group] : groups) {
    RankSet seen = group.uncounted;
    for (const GroupStep& step : group.steps) {
      seen.add(step.ranks);
    }
    for (const int rank : group.ranks) {
      if (!seen.contains(rank)) {
        group.unseen.add(rank);
      }
    }
    std::ranges::sort(group.steps, [](const GroupStep& a, const GroupStep& b) {
      return std::tuple(-a.begun, a.pending, a.name) <
             std::tuple(-b.begun, b.pending, b.name);
    });
    group.apart = is_apart(group.steps, group.exact);
    found.push_back(std::move(group));
  }
  std::ranges::stable_sort(found, {}, [](const GroupProgress& group) {
    return std::tuple(group.behind().empty() && group.mismatched().empty(),
                      !group.is_default, -static_cast<int>(group.ranks.size()));
  });
  return found;
}

}  // namespace hangdbg
