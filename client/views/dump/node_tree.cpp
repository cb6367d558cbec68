#include "client/views/dump/node_tree.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

#include "inspector/native/native_names.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostTreeFrames = std::size_t{16} << 20;

class TreeWriter {
 public:
  // The node in which it ends.
  std::int64_t add(const std::vector<reports::DumpedFrame>& frames) {
    std::int64_t node = -1;
    for (const auto& frame : frames | std::views::reverse) {
      node = child(node, place(place_of(frame)));
    }
    return node;
  }
  reports::NodeTree tree;

 private:
  std::int64_t place(StackPlace place) {
    const auto [known, is_new] = places_.try_emplace(
        place, static_cast<std::int64_t>(tree.places.size()));
    if (is_new) {
      tree.places.push_back(
          {std::move(place.function), std::move(place.file), place.line});
    }
    return known->second;
  }
  std::int64_t child(std::int64_t parent, std::int64_t place) {
    const auto [known, is_new] = nodes_.try_emplace(
        {parent, place}, static_cast<std::int64_t>(tree.parents.size()));
    if (is_new) {
      tree.parents.push_back(parent);
      tree.place_of.push_back(place);
    }
    return known->second;
  }

  std::map<StackPlace, std::int64_t> places_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> nodes_;
};

template <class T>
const T* element(const std::vector<T>& all, std::int64_t number) {
  return number >= 0 && static_cast<std::size_t>(number) < all.size()
             ? &all[static_cast<std::size_t>(number)]
             : nullptr;
}

}  // namespace

StackPlace place_of(const reports::DumpedFrame& frame) {
  if (!frame.module) {
    return {frame.qualname, frame.file,
            static_cast<int>(frame.line.value_or(0))};
  }
  return {.function = NativeSymbol{.function = frame.qualname,
                                   .module = *frame.module,
                                   .builtin = frame.builtin.value_or("")}
                          .text()};
}

reports::NodeTree tree_of(
    const std::vector<reports::DumpedProcess>& processes) {
  TreeWriter writer;
  for (const reports::DumpedProcess& from : processes) {
    reports::TreeProcess process{.pid = from.pid,
                                 .rank = from.rank,
                                 .world_size = from.world_size,
                                 .job = from.job,
                                 .child = from.child.value_or(false)};
    if (from.error) {
      process.error = from.error->message;
    }
    for (const reports::DumpedThread& thread : from.threads) {
      if (thread.frames.empty()) {
        continue;
      }
      const std::int64_t end = writer.add(thread.frames);
      if (thread.tid == from.pid) {
        process.main = {end, thread.state, thread.waiting_s.value_or(0)};
      } else {
        process.ends.push_back(end);
      }
    }
    std::ranges::sort(process.ends);
    writer.tree.processes.push_back(std::move(process));
  }
  return std::move(writer.tree);
}

Result<TreeWays> TreeWays::of(const reports::NodeTree& tree,
                              StackMerger& merger) {
  std::vector<StackMerger::Place> known;
  for (const reports::TreePlace& place : tree.places) {
    known.push_back(merger.place(
        {place.function, place.file, static_cast<int>(place.line)}));
  }
  TreeWays ways;
  ways.parents_ = tree.parents;
  for (std::size_t node = 0; node < tree.parents.size(); ++node) {
    const auto* const number = node < tree.place_of.size()
                                   ? element(known, tree.place_of[node])
                                   : nullptr;
    if (number == nullptr || tree.parents[node] < -1 ||
        tree.parents[node] >= static_cast<std::int64_t>(node)) {
      return fail(ErrorId::BadMessage, "this is no tree");
    }
    ways.places_.push_back(*number);
  }
  return ways;
}

Result<std::vector<StackMerger::Place>> TreeWays::to(std::int64_t node) {
  std::vector<StackMerger::Place> way;
  if (element(parents_, node) == nullptr) {
    return fail(ErrorId::BadMessage, "this is no node of the tree");
  }
  for (; node >= 0; node = *element(parents_, node)) {
    way.push_back(*element(places_, node));
    if (++frames_ > kMostTreeFrames) {
      return fail(ErrorId::BadMessage, "its stacks are too long");
    }
  }
  std::ranges::reverse(way);
  return way;
}

}  // namespace hangdbg
