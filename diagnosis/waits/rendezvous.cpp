#include "diagnosis/waits/rendezvous.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <set>
#include <string_view>

#include "base/text.h"
#include "diagnosis/waits/awaited_call.h"
#include "inspector/jobs/torch/group_progress.h"

namespace hangdbg {
namespace {

// What a rank's call is about.
struct MeetingPlace {
  std::string group;
  RankSet members;
  std::optional<std::int64_t> number;  // of the collective, in its group
};

struct Everybody {
  const std::vector<RankAtMeeting>& ranks;
  const RankSet& gone;
  std::vector<GroupProgress> progress = {};
  std::map<int, MeetingPlace> places = {};  // of those in a call
};

struct Kinds {
  std::map<std::string, RankSet> by_name;
  bool counted = false;                // torch's own numbers are known
  std::optional<std::int64_t> number;  // if it has one
};

MeetingPlace place_of_rank(const Everybody& all, const RankAtMeeting& rank);
RankSet ranks_awaited_by(const Everybody& all, const RankAtMeeting& rank);
std::optional<std::int64_t> begun(const Everybody& all,
                                  const MeetingPlace& place,
                                  int rank);
bool is_between_two(const CollectiveCall& call);
void find_mismatch(const Everybody& all, Meeting& meeting);
Kinds kinds_of(const Everybody& all,
               const std::vector<const RankAtMeeting*>& ranks);
std::string what_is_common(const CollectiveCall& call);
std::string plain_name(std::string_view function);

}  // namespace

Meeting meet(const std::vector<RankAtMeeting>& ranks, const RankSet& gone) {
  Everybody all{ranks, gone};
  std::vector<GroupsOfRank> groups;
  for (const RankAtMeeting& rank : ranks) {
    if (rank.groups != nullptr) {
      groups.push_back({rank.rank, rank.groups});
    }
  }
  all.progress = group_progress(groups);
  for (const RankAtMeeting& rank : ranks) {
    if (rank.call) {
      all.places[rank.rank] = place_of_rank(all, rank);
    }
  }
  Meeting meeting;
  for (const RankAtMeeting& rank : ranks) {
    if (rank.call) {
      meeting.waits_for[rank.rank] = ranks_awaited_by(all, rank);
    }
  }
  find_mismatch(all, meeting);
  return meeting;
}

RankSet Meeting::odd() const {
  RankSet odd;
  for (const auto& [rank, awaited] : waits_for) {
    for (const int other : awaited.numbers()) {
      if (!waits_for.contains(other)) {
        odd.add(other);
      }
    }
  }
  return odd;
}

// If there is no outlier, each waiting rank leads to a deadlock cycle.
std::vector<int> Meeting::cycle() const {
  std::vector<int> way;
  for (const auto& [first, awaited] : waits_for) {
    way = {first};
    while (true) {
      const auto at = waits_for.find(way.back());
      if (at == waits_for.end() || at->second.empty()) {
        break;
      }
      const int next = at->second.ranges().front().first;
      const auto met = std::ranges::find(way, next);
      if (met != way.end()) {
        return {met, way.end()};
      }
      way.push_back(next);
    }
  }
  return {};
}

namespace {

MeetingPlace place_of_rank(const Everybody& all, const RankAtMeeting& rank) {
  MeetingPlace place{.group = rank.call->group};
  for (const ProcessGroup& group : rank.groups->groups) {
    if (group.name == place.group ||
        (place.group.empty() && group.is_default)) {
      place.group = group.name;
      for (const int member : group.ranks) {
        place.members.add(member);
      }
    }
  }
  if (place.members.empty()) {  // it makes its group
    for (const RankAtMeeting& one : all.ranks) {
      place.members.add(one.rank);
    }
    place.members.add(all.gone);
  }
  place.number = begun(all, place, rank.rank);
  return place;
}

RankSet ranks_awaited_by(const Everybody& all, const RankAtMeeting& rank) {
  const MeetingPlace& own = all.places.at(rank.rank);
  const bool between_two = is_between_two(*rank.call);
  RankSet awaited;
  for (const int member : own.members.numbers()) {
    if (member == rank.rank ||
        (between_two && rank.call->peer && *rank.call->peer != member)) {
      continue;
    }
    const auto other =
        std::ranges::find(all.ranks, member, &RankAtMeeting::rank);
    if (other == all.ranks.end()) {
      if (all.gone.contains(member)) {
        awaited.add(member);
      }
      continue;
    }
    const auto place = all.places.find(member);
    const bool there =
        place != all.places.end() && place->second.group == own.group;
    if (between_two) {
      const bool meets =
          there && is_between_two(*other->call) &&
          other->call->function != rank.call->function &&
          (!other->call->peer || *other->call->peer == rank.rank);
      if (!meets) {
        awaited.add(member);
      }
      continue;
    }
    const auto number = begun(all, own, member);
    const bool counted = number && own.number;
    if (counted ? *number < *own.number : !there) {
      awaited.add(member);
    }
  }
  return awaited;
}

// The number of collectives in that place's group. Some backends count sends
// and receives, too, and then it tells nothing.
std::optional<std::int64_t> begun(const Everybody& all,
                                  const MeetingPlace& place,
                                  int rank) {
  for (const GroupProgress& group : all.progress) {
    if (group.name != place.group || group.apart || !group.exact) {
      continue;
    }
    for (const GroupStep& step : group.steps) {
      if (step.ranks.contains(rank)) {
        return step.begun;
      }
    }
  }
  return std::nullopt;
}

bool is_between_two(const CollectiveCall& call) {
  constexpr std::array<std::string_view, 6> kNames = {
      "send", "recv", "isend", "irecv", "send_object_list", "recv_object_list"};
  return std::ranges::find(kNames, call.function) != kNames.end();
}

// Ranks that wait in one group, in calls that should be the same for all.
void find_mismatch(const Everybody& all, Meeting& meeting) {
  std::map<std::string, std::vector<const RankAtMeeting*>> groups;
  for (const RankAtMeeting& rank : all.ranks) {
    if (rank.call && !is_between_two(*rank.call) && !is_message(*rank.call)) {
      groups[all.places.at(rank.rank).group].push_back(&rank);
    }
  }
  for (const auto& [group, ranks] : groups) {
    const Kinds kinds = kinds_of(all, ranks);
    if (kinds.by_name.size() < 2) {
      continue;
    }
    const auto most = std::ranges::max_element(
        kinds.by_name, {}, [](const auto& one) { return one.second.size(); });
    for (auto one = kinds.by_name.begin(); one != kinds.by_name.end(); ++one) {
      if (one == most) {
        meeting.others = one->first;
        meeting.most = one->second;
      } else {
        meeting.what += (meeting.what.empty() ? "" : " and ") + one->first;
        meeting.mismatched.add(one->second);
      }
    }
    meeting.by_number = kinds.counted;
    const std::string in =
        group.empty() ? "a group of MPI" : "group " + printable(group);
    meeting.where =
        kinds.number ? fmt::format("as collective {} of {}", *kinds.number, in)
                     : "in " + in;
    return;
  }
}

Kinds kinds_of(const Everybody& all,
               const std::vector<const RankAtMeeting*>& ranks) {
  std::set<std::int64_t> numbers;
  Kinds kinds{.counted = true};
  for (const RankAtMeeting* const rank : ranks) {
    const auto& number = all.places.at(rank->rank).number;
    kinds.counted = kinds.counted && number;
    numbers.insert(number.value_or(-1));
  }
  const bool differ = kinds.counted && numbers.size() > 1;
  if (kinds.counted && !differ) {
    kinds.number = *numbers.begin();
  }
  std::map<std::string, std::string> names;  // by how C++ calls them
  for (const bool in_python : {true, false}) {
    for (const RankAtMeeting* const rank : ranks) {
      std::string name = what_is_common(*rank->call);
      const std::string plain = plain_name(rank->call->function);
      if ((plain != rank->call->function) != in_python) {
        continue;
      }
      // For a rank that waits for what it has started, no more is known.
      name = in_python ? names.try_emplace(plain, name),
      name             : names.try_emplace(plain, name).first->second;
      if (differ) {
        name += fmt::format(", its collective {}",
                            *all.places.at(rank->rank).number);
      }
      kinds.by_name[name].add(rank->rank);
    }
  }
  return kinds;
}

std::string what_is_common(const CollectiveCall& call) {
  constexpr std::array<std::string_view, 3> kSameSizes = {
      "all_reduce", "broadcast", "reduce"};
  CollectiveCall common{.function = call.function};
  if (std::ranges::find(kSameSizes, call.function) != kSameSizes.end()) {
    common.operation = call.operation;
    common.peer = call.peer;
    common.tensor = call.tensor;
  }
  return call_words(common);
}

// "ALLREDUCE" of "all_reduce" and of "ALLREDUCE".
std::string plain_name(std::string_view function) {
  std::string plain;
  for (const char one : function) {
    if (one != '_') {
      plain += static_cast<char>(std::toupper(static_cast<unsigned char>(one)));
    }
  }
  return plain;
}

}  // namespace
}  // namespace hangdbg
