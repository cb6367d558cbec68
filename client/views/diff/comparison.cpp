#include "client/views/diff/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "client/views/diff/facts.h"
#include "inspector/ranks/rank_identity.h"

namespace hangdbg {
namespace {

// In which order they are told; others follow.
constexpr std::array<std::string_view, 9> kGroups = {
    "diagnosis", "job",    "versions", "libraries",  "environment",
    "limits",    "cgroup", "machine",  "descriptors"};

struct Pair {
  const reports::DumpedProcess* a;
  const reports::DumpedProcess* b;
  std::optional<int> rank;
};

std::vector<Pair> pair_up(const Side& a, const Side& b, Comparison& into);
void add(Comparison& into,
         const Facts& a,
         const Facts& b,
         std::optional<int> rank);
void add(Comparison& into,
         std::vector<StackDifference> stacks,
         std::optional<int> rank);
bool same(const std::string& a, const std::string& b);
bool same_place(const StackDifference& a, const StackDifference& b);
std::set<std::string> groups_of(const Facts& facts);

}  // namespace

Comparison compare(const Side& a, const Side& b) {
  Comparison found;
  add(found, shared_facts(a), shared_facts(b), {});
  for (const Pair& pair : pair_up(a, b, found)) {
    add(found, process_facts(a, *pair.a), process_facts(b, *pair.b), pair.rank);
    add(found, compare_stacks(*pair.a, *pair.b), pair.rank);
  }
  std::ranges::stable_sort(found.facts, {}, [](const FactDifference& one) {
    return std::ranges::find(kGroups, one.group) - kGroups.begin();
  });
  return found;
}

namespace {

std::vector<Pair> pair_up(const Side& a, const Side& b, Comparison& into) {
  std::vector<Pair> pairs;
  const auto ranks_of = [](const Side& side) {
    std::map<int, const reports::DumpedProcess*> ranks;
    for (const reports::DumpedProcess& process : side.processes) {
      if (process.rank && *process.rank >= 0 && *process.rank < kMostRanks &&
          !process.child.value_or(false)) {
        ranks.emplace(static_cast<int>(*process.rank), &process);
      }
    }
    return ranks;
  };
  const auto in_a = ranks_of(a);
  const auto in_b = ranks_of(b);
  // One process and one process are meant to be compared, whatever they are.
  if (in_a.size() <= 1 || in_b.size() <= 1) {
    const std::size_t count = std::min(a.processes.size(), b.processes.size());
    for (std::size_t i = 0; i < count; ++i) {
      pairs.push_back({&a.processes[i], &b.processes[i], {}});
    }
    return pairs;
  }
  for (const auto& [rank, process] : in_a) {
    if (const auto other = in_b.find(rank); other != in_b.end()) {
      pairs.push_back({process, other->second, rank});
    } else {
      into.only_in_a.add(rank);
    }
  }
  for (const auto& [rank, process] : in_b) {
    if (!in_a.contains(rank)) {
      into.only_in_b.add(rank);
    }
  }
  return pairs;
}

// The same difference of several ranks is one. What a whole group of is on one
// side alone was not requested there.
void add(Comparison& into,
         const Facts& a,
         const Facts& b,
         std::optional<int> rank) {
  const auto groups_a = groups_of(a);
  const auto groups_b = groups_of(b);
  std::set<Facts::key_type> names;
  for (const Facts* const facts : {&a, &b}) {
    for (const auto& [name, value] : *facts) {
      if (groups_a.contains(name.first) && groups_b.contains(name.first)) {
        names.insert(name);
      } else if (std::ranges::find(into.not_compared, name.first) ==
                 into.not_compared.end()) {
        into.not_compared.push_back(name.first);
      }
    }
  }
  const auto value_in = [](const Facts& facts, const Facts::key_type& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? std::nullopt : std::optional(found->second);
  };
  for (const auto& name : names) {
    FactDifference one{.group = name.first,
                       .name = name.second,
                       .a = value_in(a, name),
                       .b = value_in(b, name)};
    if (one.a && one.b && same(*one.a, *one.b)) {
      continue;
    }
    auto known = std::ranges::find_if(into.facts, [&](const auto& other) {
      return std::tie(other.group, other.name, other.a, other.b) ==
             std::tie(one.group, one.name, one.a, one.b);
    });
    if (known == into.facts.end()) {
      known = into.facts.insert(known, std::move(one));
    }
    if (rank) {
      known->ranks.add(*rank);
    }
  }
}

void add(Comparison& into,
         std::vector<StackDifference> stacks,
         std::optional<int> rank) {
  for (StackDifference& stack : stacks) {
    auto known = std::ranges::find_if(into.stacks, [&](const auto& other) {
      return rank && same_place(other.stack, stack);
    });
    if (known == into.stacks.end()) {
      known =
          into.stacks.insert(known, {.stack = std::move(stack), .ranks = {}});
    }
    if (rank) {
      known->ranks.add(*rank);
    }
  }
}

// A summary may name a process or a time.
bool same(const std::string& a, const std::string& b) {
  return a == b ||
         (a.find(' ') != a.npos && without_numbers(a) == without_numbers(b));
}

bool same_place(const StackDifference& a, const StackDifference& b) {
  const auto same_frames = [](const auto& one, const auto& other) {
    return one.has_value() == other.has_value() &&
           (!one || std::ranges::equal(*one, *other, {},
                                       &reports::DumpedFrame::qualname,
                                       &reports::DumpedFrame::qualname));
  };
  return a.thread == b.thread && same_frames(a.a, b.a) && same_frames(a.b, b.b);
}

std::set<std::string> groups_of(const Facts& facts) {
  std::set<std::string> groups;
  for (const auto& [name, value] : facts) {
    groups.insert(name.first);
  }
  return groups;
}

}  // namespace
}  // namespace hangdbg
