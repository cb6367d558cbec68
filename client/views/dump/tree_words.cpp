#include "client/views/dump/tree_words.h"

#include <fmt/core.h>

#include <set>

#include "base/text.h"
#include "client/terminal/render.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostRanges = 12;  // of ranks in a line
constexpr std::size_t kFewRanges = 4;    // in the middle of one

std::string processes(const RankSet& set, const TreeLabels& labels) {
  std::string text;
  for (const int pid : set.numbers()) {
    const auto name = labels.names.find(pid);
    text += fmt::format(
        "{}{}", text.empty() ? "" : ", ",
        name == labels.names.end() ? fmt::format("{}", pid) : name->second);
  }
  return text;
}

// " on node1, node2": of those that are few.
std::string hosts(const RankSet& set, const TreeLabels& labels) {
  constexpr std::size_t kMostHosts = 3;
  std::set<std::string> found;
  if (!labels.hosts.empty()) {
    for (const int rank : set.numbers()) {
      if (const auto host = labels.hosts.find(rank);
          host != labels.hosts.end()) {
        found.insert(printable(host->second));
      }
    }
  }
  if (found.size() > kMostHosts) {
    return fmt::format(" on {} hosts", found.size());
  }
  std::string text;
  for (const std::string& host : found) {
    text += (text.empty() ? " on " : ", ") + host;
  }
  return text;
}

// Where it is, and what in its way is not in the other's: the call that led it
// there.
std::string whereabouts(const StackClass& some, std::size_t fork, bool full) {
  if (some.way.empty()) {
    return "nowhere";
  }
  const StackPlace& at = some.way.back();
  std::string text = "in " + text_of(at, full);
  if (fork + 1 < some.way.size()) {
    text += ", by way of " + text_of(some.way[fork], full);
  }
  return text;
}

}  // namespace

std::string text_of(const StackPlace& place, bool full) {
  return place.file.empty()
             ? printable(place.function)
             : listed_frame(place.function, place.file, place.line, full,
                            Palette(ColourChoice::Never, stdout));
}

RankSet set_of(int member) {
  RankSet set;
  set.add(member);
  return set;
}

bool are_ranks(const TreeLabels& labels) {
  return labels.members == TreeLabels::Members::Ranks;
}

std::string name_of(const RankSet& set, const TreeLabels& labels) {
  const bool one = set.size() == 1;
  return are_ranks(labels)
             ? fmt::format("{} {}{}", one ? "rank" : "ranks",
                           set.text(kMostRanges), hosts(set, labels))
             : fmt::format("{} {}", one ? "process" : "processes",
                           processes(set, labels));
}

std::string who_text(const StackNode& node,
                     const StackTree& tree,
                     const TreeLabels& labels) {
  const std::size_t all = tree.root.members.size();
  const std::size_t here = node.members.size();
  std::string said =
      are_ranks(labels)
          ? fmt::format("[{}] {} {}{}", node.members.text(kMostRanges), here,
                        here == 1 ? "rank" : "ranks",
                        hosts(node.members, labels))
      : here == all && all > 1 ? fmt::format("all {} processes", all)
      : here == 1              ? name_of(node.members, labels)
                  : fmt::format("{} of {} processes: {}", here, all,
                                processes(node.members, labels));
  return node.threads > static_cast<std::int64_t>(here)
             ? fmt::format("{} ({} threads)", said, node.threads)
             : said;
}

std::string why(const StackTree& tree,
                const Outliers& odd,
                const TreeLabels& labels,
                bool full,
                const char* between) {
  const StackClass& most = tree.classes.front();
  return fmt::format("{}{}{} {}{}", whereabouts(odd.here, odd.fork, full),
                     between,
                     !are_ranks(labels) ? "most are"
                     : most.members.ranges().size() > kFewRanges
                         ? fmt::format("most ({} ranks):", most.members.size())
                         : name_of(most.members, labels) + ":",
                     whereabouts(most, odd.fork, full),
                     most.state.empty() ? "" : ", " + printable(most.state));
}

std::string why(const StoppedMember& one) {
  return fmt::format("{}{}; resume it by kill -CONT {}",
                     one.child ? fmt::format("its child {} is ", one.pid) : "",
                     printable(one.state), one.pid);
}

}  // namespace hangdbg
