#include "client/views/dump/icicle.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>

namespace hangdbg {
namespace {

using BoxKind = IcicleBox::Kind;

constexpr std::size_t kMostBoxes = 5000;
constexpr double kUsualWidth = 1160;
constexpr double kRoomForLeaves = 1160;
constexpr double kLeast = 3, kComfortable = 26;  // of a leaf's width

// What of the tree stands out.
struct Marks {
  RankSet odd;                                  // all of them
  std::map<const StackNode*, RankSet> odd_at;   // whose way ends in others'
  std::map<const StackNode*, RankSet> stopped;  // where they are
};

struct Seen {
  const StackNode* node;
  bool marked;  // it, or what is below it
};

Marks marks_of(const StackTree& tree);
const StackNode* end_of(const StackTree& tree, std::span<const StackPlace> way);
bool is_part_of(const RankSet& some, const RankSet& all);
bool see_all(const StackNode& node,
             const Marks& marks,
             std::vector<Seen>& seen);
IcicleBox box_of(const StackNode& node,
                 const Marks& marks,
                 const std::unordered_set<const StackNode*>& kept);
void add_mark(IcicleBox& box,
              const std::map<const StackNode*, RankSet>& marks,
              BoxKind kind,
              const char* note);
std::size_t leaves_of(const IcicleBox& box);
int levels_of(const IcicleBox& box);
double need_of(const IcicleBox& box, double least);
void place(IcicleBox& box, double x, double width, double least);

}  // namespace

Icicle lay_out(const StackTree& tree) {
  const Marks marks = marks_of(tree);
  std::vector<Seen> seen;
  see_all(tree.root, marks, seen);
  if (seen.size() > kMostBoxes) {
    // A caller has at least as many threads, and comes before.
    std::ranges::stable_sort(seen, {}, [](const Seen& one) {
      return std::pair(!one.marked, -one.node->threads);
    });
    seen.resize(kMostBoxes);
  }
  std::unordered_set<const StackNode*> kept;
  for (const Seen& one : seen) {
    kept.insert(one.node);
  }
  Icicle icicle{box_of(tree.root, marks, kept)};
  icicle.levels = levels_of(icicle.root);
  const double least =
      std::clamp(kRoomForLeaves / static_cast<double>(leaves_of(icicle.root)),
                 kLeast, kComfortable);
  // So that the larger ones stay larger, however many small ones there are.
  const double need = need_of(icicle.root, least);
  place(icicle.root, 0, std::max(kUsualWidth, need + kUsualWidth / 2), least);
  return icicle;
}

namespace {

Marks marks_of(const StackTree& tree) {
  Marks marks;
  for (const Outliers& odd : tree.odd) {
    marks.odd.add(odd.here.members);
    const StackNode* const end = end_of(tree, odd.here.way);
    if (odd.fork == odd.here.way.size() && end != nullptr) {
      marks.odd_at[end].add(odd.here.members);
    }
  }
  for (const StoppedMember& one : tree.stopped) {
    if (const StackNode* const end = end_of(tree, one.way)) {
      marks.stopped[end].add(one.member);
    }
  }
  return marks;
}

const StackNode* end_of(const StackTree& tree,
                        std::span<const StackPlace> way) {
  const StackNode* node = &tree.root;
  for (const StackPlace& place : way) {
    const auto next =
        std::ranges::find(node->children, place, &StackNode::place);
    if (next == node->children.end()) {
      return nullptr;
    }
    node = &*next;
  }
  return node;
}

bool is_part_of(const RankSet& some, const RankSet& all) {
  return !some.empty() && some.size() <= all.size() &&
         std::ranges::all_of(some.ranges(), [&](const RankSet::Range& range) {
           const auto next = std::ranges::upper_bound(
               all.ranges(), range.first, {}, &RankSet::Range::first);
           return next != all.ranges().begin() &&
                  std::prev(next)->last >= range.last;
         });
}

// Whether any is marked.
bool see_all(const StackNode& node,
             const Marks& marks,
             std::vector<Seen>& seen) {
  const std::size_t at = seen.size();
  seen.push_back({&node, false});
  bool marked = is_part_of(node.members, marks.odd) ||
                marks.odd_at.contains(&node) || marks.stopped.contains(&node);
  for (const StackNode& child : node.children) {
    marked |= see_all(child, marks, seen);
  }
  seen[at].marked = marked;
  return marked;
}

IcicleBox box_of(const StackNode& node,
                 const Marks& marks,
                 const std::unordered_set<const StackNode*>& kept) {
  const bool odd = is_part_of(node.members, marks.odd);
  IcicleBox box{.kind = odd ? BoxKind::Odd : BoxKind::Usual,
                .node = &node,
                .members = node.members,
                .threads = node.threads};
  add_mark(box, marks.stopped, BoxKind::Stopped, "stopped");
  add_mark(box, marks.odd_at, BoxKind::Odd, "no further");
  IcicleBox folded{.kind = BoxKind::Folded};
  std::size_t branches = 0;
  for (const StackNode& child : node.children) {
    if (kept.contains(&child)) {
      box.children.push_back(box_of(child, marks, kept));
    } else {
      ++branches;
      folded.members.add(child.members);
      folded.threads += child.threads;
    }
  }
  if (branches > 0) {
    folded.note = fmt::format("{} more", branches);
    box.children.push_back(std::move(folded));
  }
  return box;
}

void add_mark(IcicleBox& box,
              const std::map<const StackNode*, RankSet>& marks,
              BoxKind kind,
              const char* note) {
  if (const auto mark = marks.find(box.node); mark != marks.end()) {
    box.children.push_back(
        {.kind = kind,
         .note = note,
         .members = mark->second,
         .threads = static_cast<std::int64_t>(mark->second.size())});
  }
}

std::size_t leaves_of(const IcicleBox& box) {
  std::size_t leaves = box.children.empty() ? 1 : 0;
  for (const IcicleBox& child : box.children) {
    leaves += leaves_of(child);
  }
  return leaves;
}

int levels_of(const IcicleBox& box) {
  int below = 0;
  for (const IcicleBox& child : box.children) {
    below = std::max(below, levels_of(child));
  }
  return below + 1;
}

double need_of(const IcicleBox& box, double least) {
  double need = 0;
  for (const IcicleBox& child : box.children) {
    need += need_of(child, least);
  }
  return std::max(need, least);
}

// Each has what it needs; what is left they share by their threads. (What it
// needs is summed up again on each level: there are few enough.)
void place(IcicleBox& box, double x, double width, double least) {
  box.x = x;
  box.width = width;
  double needed = 0;
  std::int64_t below = 0;
  for (const IcicleBox& child : box.children) {
    needed += need_of(child, least);
    below += child.threads;
  }
  const auto threads =
      static_cast<double>(std::max({box.threads, below, std::int64_t{1}}));
  for (IcicleBox& child : box.children) {
    const double own = need_of(child, least) +
                       std::max(0.0, width - needed) *
                           static_cast<double>(child.threads) / threads;
    place(child, x, own, least);
    x += own;
  }
}

}  // namespace
}  // namespace hangdbg
