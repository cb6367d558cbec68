#include "inspector/stack_tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>
#include <utility>

namespace hangdbg {
namespace {

// Who reads the tree, we and others, goes down it by recursion.
constexpr std::size_t kMostLevels = 400;

StackNode node_of(const DumpedThread& thread, const StackEntry& entry) {
  if (entry.kind == StackEntry::Kind::Native) {
    return {.function = entry.native.text()};
  }
  const PythonFrame& frame = thread.stack.frames[entry.frame];
  return {.function = frame.qualname, .file = frame.file, .line = frame.line};
}

// Outermost frame first.
void add(StackNode& root, int pid, const DumpedThread& thread) {
  StackNode* at = &root;
  ++at->threads[pid];
  const auto entries = thread.entries();
  for (std::size_t level = 0; level < entries.size(); ++level) {
    const bool too_deep = level == kMostLevels;
    StackNode node =
        too_deep ? StackNode{.function = fmt::format("({} frames deeper)",
                                                     entries.size() - level)}
                 : node_of(thread, entries[entries.size() - 1 - level]);
    const auto known = std::ranges::find_if(
        at->children,
        [&](const StackNode& child) { return child.is_same(node); });
    at = known != at->children.end()
             ? &*known
             : &at->children.emplace_back(std::move(node));
    ++at->threads[pid];
    if (too_deep) {
      break;
    }
  }
}

void sort(StackNode& node) {
  std::ranges::stable_sort(node.children, [](const auto& a, const auto& b) {
    return a.threads.size() > b.threads.size();
  });
  std::ranges::for_each(node.children, sort);
}

// By where the main threads are. None is odd where no place has more than half.
std::vector<OddOnes> odd_ones(const std::vector<ProcessDump>& dumps) {
  std::vector<std::pair<StackNode, std::vector<int>>> places;
  std::size_t processes = 0;
  for (const ProcessDump& dump : dumps) {
    const auto main = std::ranges::find(dump.threads, std::optional(dump.pid),
                                        &DumpedThread::tid);
    if (main == dump.threads.end() || main->entries().empty()) {
      continue;
    }
    ++processes;
    StackNode here = node_of(*main, main->entries().front());
    const auto known = std::ranges::find_if(
        places, [&](const auto& place) { return place.first.is_same(here); });
    auto& pids =
        known != places.end()
            ? known->second
            : places.emplace_back(std::move(here), std::vector<int>()).second;
    pids.push_back(dump.pid);
  }
  std::ranges::stable_sort(places, [](const auto& a, const auto& b) {
    return a.second.size() > b.second.size();
  });
  std::vector<OddOnes> odd;
  if (!places.empty() && places.front().second.size() * 2 > processes) {
    for (const auto& [here, pids] : places | std::views::drop(1)) {
      odd.push_back({pids, here, places.front().first});
    }
  }
  return odd;
}

}  // namespace

StackTree merge_dumps(const std::vector<ProcessDump>& dumps) {
  StackTree tree;
  for (const ProcessDump& dump : dumps) {
    for (const DumpedThread& thread : dump.threads) {
      if (!thread.error && !thread.entries().empty()) {
        add(tree.root, dump.pid, thread);
      }
    }
  }
  sort(tree.root);
  tree.odd = odd_ones(dumps);
  return tree;
}

}  // namespace hangdbg
