#include "inspector/jobs/stack_tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

namespace hangdbg {
namespace {

// Readers of the tree, ours and others, descend it by recursion.
constexpr std::size_t kMostLevels = 400;

// Asleep in one call for less than that, a thread may just come round.
constexpr double kAtRestS = 2;

StackPlace place_of(const DumpedThread& thread, const StackEntry& entry) {
  if (entry.kind == StackEntry::Kind::Native) {
    return {.function = entry.native.text()};
  }
  const PythonFrame& frame = thread.stack.frames[entry.frame];
  return {.function = frame.qualname, .file = frame.file, .line = frame.line};
}

std::vector<StackMerger::Place> way_of(StackMerger& merger,
                                       const DumpedThread& thread) {
  const auto entries = thread.entries();
  std::vector<StackMerger::Place> way;
  way.reserve(entries.size());
  for (const StackEntry& entry : entries | std::views::reverse) {
    way.push_back(merger.place(place_of(thread, entry)));
  }
  return way;
}

void sort_branches(StackNode& node) {
  std::ranges::stable_sort(node.children, [](const auto& a, const auto& b) {
    return a.members.size() > b.members.size();
  });
  std::ranges::for_each(node.children, sort_branches);
}

}  // namespace

StackTree merge_dumps(const std::vector<ProcessDump>& dumps, MemberOf member) {
  StackMerger merger;
  for (const ProcessDump& dump : dumps) {
    for (const DumpedThread& thread : dump.threads) {
      if (!thread.error && !thread.entries().empty()) {
        merger.add_thread({.member = member(dump),
                           .pid = dump.pid,
                           .child = dump.rank && dump.rank->child,
                           .main = thread.tid == dump.pid,
                           .state = thread.state,
                           .waiting_s = thread.waiting_s.value_or(0)},
                          way_of(merger, thread));
      }
    }
  }
  return merger.finish();
}

StackMerger::Place StackMerger::place(StackPlace place) {
  const auto [known, is_new] = numbers_.try_emplace(
      std::move(place), Place{static_cast<int>(places_.size())});
  if (is_new) {
    places_.push_back(&known->first);
  }
  return known->second;
}

void StackMerger::add_thread(const StackOwner& owner,
                             std::span<const Place> way) {
  const int node = add(owner.member, way);
  if (!owner.main) {
    return;
  }
  if (owner.state.starts_with("stopped")) {
    stopped_.push_back({owner.member, owner.pid, std::string(owner.state),
                        owner.child, places_to(node)});
  }
  if (!owner.child) {
    add_main(owner.member, node, owner.state, owner.waiting_s < kAtRestS);
  }
}

// Most stacks are like the one before: what they begin with alike is not looked
// up again.
int StackMerger::add(int member, std::span<const Place> way) {
  if (way.size() > kMostLevels) {
    std::vector<Place> cut(way.begin(), way.begin() + kMostLevels);
    cut.push_back(place({.function = fmt::format("({} frames deeper)",
                                                 way.size() - kMostLevels)}));
    return add_whole(member, cut);
  }
  return add_whole(member, way);
}

int StackMerger::add_whole(int member, std::span<const Place> way) {
  std::size_t level = 0;
  const std::size_t most = std::min(way.size(), last_places_.size());
  while (level < most && way[level] == last_places_[level]) {
    ++level;
  }
  last_way_.resize(level);
  last_places_.assign(way.begin(), way.end());
  int node = level > 0 ? last_way_.back() : 0;
  for (; level < way.size(); ++level) {
    node = child(node, way[level]);
    last_way_.push_back(node);
  }
  nodes_[0].members.add(member);
  ++nodes_[0].threads;
  for (const int number : last_way_) {
    nodes_[static_cast<std::size_t>(number)].members.add(member);
    ++nodes_[static_cast<std::size_t>(number)].threads;
  }
  return node;
}

void StackMerger::add_main(int member,
                           int node,
                           std::string_view state,
                           bool moves) {
  const Node& at = nodes_[static_cast<std::size_t>(node)];
  const StackPlace& place = *places_[static_cast<std::size_t>(at.place)];
  Mains& mains = mains_[{at.parent, place.function, place.file}];
  Main fresh{{}, std::string(state), node};
  Main& main = moves
                   ? mains.moving ? *mains.moving : mains.moving.emplace(fresh)
                   : mains.at_rest.try_emplace(node, fresh).first->second;
  main.members.add(member);
}

StackTree StackMerger::finish() {
  // Children come after their parents, so from the end each is whole.
  std::vector<StackNode> whole(nodes_.size());
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    Node& node = nodes_[i];
    whole[i].members = std::move(node.members);
    whole[i].threads = node.threads;
    if (i > 0) {
      whole[i].place = *places_[static_cast<std::size_t>(node.place)];
      std::ranges::reverse(whole[i].children);
      whole[static_cast<std::size_t>(node.parent)].children.push_back(
          std::move(whole[i]));
    }
  }
  StackTree tree{.root = std::move(whole[0])};
  std::ranges::reverse(tree.root.children);
  sort_branches(tree.root);
  tree.stopped = std::move(stopped_);
  find_classes(tree);
  return tree;
}

int StackMerger::child(int node, Place place) {
  const auto key = static_cast<std::uint64_t>(node) << 32 |
                   static_cast<std::uint32_t>(place);
  const auto [known, is_new] =
      children_.try_emplace(key, static_cast<int>(nodes_.size()));
  if (is_new) {
    nodes_.push_back({node, place, {}, 0});
  }
  return known->second;
}

// A moving process is of the class at rest there, if there is one. There are no
// outliers where no class has more than half.
void StackMerger::find_classes(StackTree& tree) const {
  std::size_t members = 0;
  for (auto [key, mains] : mains_) {
    const auto largest = std::ranges::max_element(
        mains.at_rest, {},
        [](const auto& one) { return one.second.members.size(); });
    if (mains.moving && largest != mains.at_rest.end()) {
      largest->second.members.add(mains.moving->members);
    } else if (mains.moving) {
      tree.classes.push_back(class_of(*mains.moving));
    }
    for (const auto& [node, main] : mains.at_rest) {
      tree.classes.push_back(class_of(main));
    }
  }
  for (const StackClass& some : tree.classes) {
    members += some.members.size();
  }
  std::ranges::stable_sort(tree.classes, [](const auto& a, const auto& b) {
    return a.members.size() > b.members.size();
  });
  if (tree.classes.empty() ||
      tree.classes.front().members.size() * 2 <= members) {
    return;
  }
  const auto& most = tree.classes.front().way;
  for (const StackClass& other : tree.classes | std::views::drop(1)) {
    const auto parted = std::ranges::mismatch(other.way, most).in1;
    tree.odd.push_back({other, static_cast<std::size_t>(
                                   std::distance(other.way.begin(), parted))});
  }
}

StackClass StackMerger::class_of(const Main& main) const {
  return {main.members, main.state, places_to(main.node)};
}

std::vector<StackPlace> StackMerger::places_to(int node) const {
  std::vector<StackPlace> places;
  for (const int one : way_to(node)) {
    places.push_back(*places_[static_cast<std::size_t>(
        nodes_[static_cast<std::size_t>(one)].place)]);
  }
  return places;
}

std::vector<int> StackMerger::way_to(int node) const {
  std::vector<int> way;
  for (; node > 0; node = nodes_[static_cast<std::size_t>(node)].parent) {
    way.push_back(node);
  }
  std::ranges::reverse(way);
  return way;
}

}  // namespace hangdbg
