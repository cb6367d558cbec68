#include "client/views/dump/tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <ranges>
#include <utility>

#include "base/text.h"
#include "protocol/reports/stack_tree.h"

namespace hangdbg {
namespace {

constexpr std::size_t kFewRangesInTree = 4;  // in the middle of a line

struct TreePrinter {
  const StackTree& tree;
  const TreeLabels& labels;
  const DumpStyle& style;
  const Palette& out;
  std::string text = {};

  // Frames that the same threads are in are below each other; where they
  // diverge, each branch is indented and names the threads in it.
  void branch(const StackNode& first, const std::string& indent) {
    text += indent + out.bold(who_text(first, tree, labels)) + "\n";
    const StackNode* node = &first;
    for (;;) {
      text +=
          indent + "    " + text_of(node->place, style.full_filenames) + "\n";
      if (node->children.size() != 1 ||
          node->children.front().threads != node->threads) {
        break;
      }
      node = &node->children.front();
    }
    for (const StackNode& child : node->children) {
      branch(child, indent + "  ");
    }
  }
};

// What a person can take in; "" if there are none.
std::string differences_text(const std::optional<Differences>& differences,
                             const DumpStyle& style,
                             const Palette& out) {
  constexpr std::size_t kMostLocals = 20, kMostValues = 6, kLongest = 100;
  if (!differences || differences->locals.empty()) {
    return "";
  }
  const StackPlace& place = differences->place;
  std::string text = fmt::format(
      "they differ in {} ({}):\n", printable(place.function),
      out.cyan(printable(style.full_filenames ? place.file
                                              : short_path(place.file))));
  for (const auto& local :
       differences->locals | std::views::take(kMostLocals)) {
    text += fmt::format("    {} =", printable(local.name));
    const char* between = " ";
    for (const auto& [value, members] :
         local.values | std::views::take(kMostValues)) {
      text +=
          fmt::format("{}{} {}", between, printable(value.substr(0, kLongest)),
                      out.dim("[" + members.text(kFewRangesInTree) + "]"));
      between = ", ";
    }
    text += local.values.size() > kMostValues ? ", ...\n" : "\n";
  }
  return text;
}

reports::Numbers ranks_of(const RankSet& set, const TreeLabels& labels) {
  return are_ranks(labels) ? reports::Numbers(set.numbers()) : std::nullopt;
}

reports::Numbers pids_of(const RankSet& set, const TreeLabels& labels) {
  if (are_ranks(labels)) {
    return std::nullopt;
  }
  std::vector<int> pids = set.numbers();
  for (int& pid : pids) {
    const auto known = labels.pids.find(pid);
    pid = known == labels.pids.end() ? pid : known->second;
  }
  return pids;
}

reports::TreeNode json_of_tree(const StackNode& node,
                               const TreeLabels& labels) {
  reports::TreeNode json{.ranks = ranks_of(node.members, labels),
                         .pids = pids_of(node.members, labels),
                         .threads = node.threads};
  if (!node.place.function.empty()) {
    json.frame = text_of(node.place, true);
    json.function = node.place.function;
    if (!node.place.file.empty()) {
      json.file = node.place.file;
      json.line = node.place.line;
    }
  }
  for (const StackNode& child : node.children) {
    json.children.push_back(json_of_tree(child, labels));
  }
  return json;
}

reports::TreeClass json_of_tree(const StackClass& some,
                                const TreeLabels& labels) {
  reports::TreeClass json{ranks_of(some.members, labels),
                          pids_of(some.members, labels),
                          some.state,
                          {}};
  for (const StackPlace& place : some.way) {
    json.frames.push_back(text_of(place, true));
  }
  std::ranges::reverse(json.frames);
  return json;
}

reports::TreeDifferences json_of_tree(const Differences& differences,
                                      const TreeLabels& labels) {
  reports::TreeDifferences json{text_of(differences.place, true), {}};
  for (const auto& [name, values] : differences.locals) {
    for (const auto& [repr, members] : values) {
      json.locals[name].push_back(
          {repr, ranks_of(members, labels), pids_of(members, labels)});
    }
  }
  return json;
}

std::optional<std::map<std::string, std::vector<int>>> hosts_by_name(
    const TreeLabels& labels) {
  std::map<std::string, std::vector<int>> hosts;
  for (const auto& [rank, host] : labels.hosts) {
    hosts[host].push_back(rank);
  }
  return hosts.empty() ? std::nullopt : std::optional(std::move(hosts));
}

}  // namespace

std::string tree_text(const StackTree& tree,
                      const TreeLabels& labels,
                      const DumpStyle& style,
                      const Palette& out,
                      const std::optional<Differences>& differences) {
  TreePrinter printer{tree, labels, style, out};
  for (const StoppedMember& one : tree.stopped) {
    printer.text +=
        out.red(name_of(set_of(one.member), labels) + ": ") + why(one) + "\n";
  }
  for (const Outliers& odd : tree.odd) {
    printer.text += out.red(name_of(odd.here.members, labels) + ": ") +
                    why(tree, odd, labels, style.full_filenames, "\n    ") +
                    "\n";
  }
  printer.text += differences_text(differences, style, out);
  for (const StackNode& child : tree.root.children) {
    printer.branch(child, "");
  }
  return printer.text;
}

Json tree_json(const StackTree& tree,
               const TreeLabels& labels,
               const std::vector<MissingMember>& missing,
               const std::optional<Differences>& differences) {
  reports::StackTree json{.tree = json_of_tree(tree.root, labels)};
  for (const StoppedMember& one : tree.stopped) {
    const RankSet set = set_of(one.member);
    json.odd.push_back({ranks_of(set, labels), pids_of(set, labels), why(one)});
  }
  for (const Outliers& odd : tree.odd) {
    json.odd.push_back({ranks_of(odd.here.members, labels),
                        pids_of(odd.here.members, labels),
                        why(tree, odd, labels, true, "; ")});
  }
  for (const StackClass& some : tree.classes) {
    json.classes.push_back(json_of_tree(some, labels));
  }
  for (const auto& [rank, pid, error, host] : missing) {
    json.missing.push_back(
        {rank, pid, host, error_name(error.id), error.text()});
  }
  json.hosts = hosts_by_name(labels);
  if (differences) {
    json.differences = json_of_tree(*differences, labels);
  }
  return encode(json);
}

}  // namespace hangdbg
