#include "client/probe/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/text.h"
#include "client/probe/choices.h"
#include "client/probe/findings.h"
#include "nodes/hosts/host_list.h"

namespace hangdbg {
namespace {

using reports::NetProbe;
using reports::ProbedInterface;
using reports::ProbedNode;
using Names = std::vector<std::string>;

constexpr std::size_t kMostColumns = 16;

bool answered(const ProbedNode& node) {
  return !node.error;
}

// How often each node is part of a pair that fails.
std::map<std::string, int> failures(const ProbedPairs& pairs) {
  std::map<std::string, int> all;
  for (const auto& [pair, what] : pairs) {
    if (!what.good()) {
      ++all[pair.first];
      ++all[pair.second];
    }
  }
  return all;
}

// "ok", "refused": what fits a column.
std::string cell_text(const ProbedPair& pair) {
  static const std::map<std::string, std::string> kShort = {
      {"whole", "ok"},
      {"large-lost-there", "large lost"},
      {"large-lost-back", "large lost"},
      {"other-node", "other node"},
      {"other-program", "other prog."}};
  const auto found = kShort.find(pair.result);
  std::string text = found == kShort.end() ? pair.result : found->second;
  std::ranges::replace(text, '-', ' ');
  return text;
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width > text.size() ? width - text.size() : 0, ' ');
}

// Those with failures first; of many nodes those alone.
std::string matrix(const NetProbe& probe,
                   const ProbedPairs& pairs,
                   const Palette& out) {
  const auto failed = failures(pairs);
  Names nodes;
  for (const ProbedNode& node : probe.nodes) {
    if (answered(node)) {
      nodes.push_back(node.node);
    }
  }
  const auto count = [&](const std::string& node) {
    const auto found = failed.find(node);
    return found == failed.end() ? 0 : found->second;
  };
  std::ranges::stable_sort(nodes, [&](const auto& one, const auto& other) {
    return count(one) > count(other);
  });
  std::string below;
  if (nodes.size() > kMostColumns) {
    below = fmt::format("(these {} of {} nodes have the most failures)\n",
                        kMostColumns, nodes.size());
    nodes.resize(kMostColumns);
  }
  constexpr std::string_view kCorner = "from \\ to";
  std::size_t first = kCorner.size();
  std::map<std::string, std::size_t> widths;
  for (const std::string& to : nodes) {
    first = std::max(first, to.size());
    widths[to] = std::max<std::size_t>(to.size(), 2);
    for (const std::string& from : nodes) {
      const auto pair = pairs.find({from, to});
      if (pair != pairs.end()) {
        widths[to] = std::max(widths[to], cell_text(pair->second).size());
      }
    }
  }
  std::string text = padded(std::string(kCorner), first);
  for (const std::string& to : nodes) {
    text += "  " + padded(to, widths[to]);
  }
  text = std::string(trim(text)) + "\n";
  for (const std::string& from : nodes) {
    std::string line = padded(from, first);
    for (const std::string& to : nodes) {
      const auto pair = pairs.find({from, to});
      const std::string cell = from == to            ? "."
                               : pair == pairs.end() ? "?"
                                                     : cell_text(pair->second);
      const std::string wide = padded(cell, widths[to]);
      const bool bad = pair != pairs.end() && !pair->second.good();
      line += "  " + (bad ? out.red(wide) : wide);
    }
    while (line.ends_with(' ')) {
      line.pop_back();
    }
    text += line + "\n";
  }
  return text + below;
}

std::string speed_text(const ProbedInterface& one) {
  if (!one.speed_mbps) {
    return {};
  }
  return *one.speed_mbps >= 1000
             ? fmt::format(", {:g} Gbit/s",
                           static_cast<double>(*one.speed_mbps) / 1000)
             : fmt::format(", {} Mbit/s", *one.speed_mbps);
}

// "eth0 10.0.0.1, up, 10 Gbit/s, MTU 1500 (gloo, NCCL)", without the loopback,
// if that is not selected.
std::string interfaces_text(const NetProbe& probe, const Palette& out) {
  std::string text;
  for (const ProbedNode& node : probe.nodes) {
    for (const ProbedInterface& one : node.interfaces) {
      std::set<std::string> libraries;
      for (const auto& choice : node.choices) {
        if (choice.interface == one.name) {
          libraries.insert(choice.library);
        }
      }
      Names addresses;
      for (const std::string& address : one.addresses) {
        if (!is_local_alone(address)) {
          addresses.push_back(address);
        }
      }
      if (addresses.empty() && libraries.empty()) {
        continue;
      }
      std::string by;
      for (const std::string& library : libraries) {
        by += (by.empty() ? "" : ", ") + library;
      }
      text += fmt::format("{} {}{}, {}{}, MTU {}{}\n",
                          out.bold(fmt::format("[{}]", node.node)), one.name,
                          addresses.empty()
                              ? ""
                              : fmt::format(" {}", fmt::join(addresses, " ")),
                          one.state, speed_text(one), one.mtu,
                          by.empty() ? "" : fmt::format(" ({})", by));
    }
  }
  return text;
}

// Services that all reach: "n1:29500: accepted from n[1-4]".
std::string services_text(const NetProbe& probe, const ProbedPairs& pairs) {
  std::map<std::string, Names> accepted;
  for (const ProbedNode& node : probe.nodes) {
    for (const auto& [pair, what] : pairs) {
      if (pair.first == node.node && what.result == "accepted") {
        accepted[pair.second].push_back(node.node);
      }
    }
  }
  std::string text;
  for (const auto& [service, from] : accepted) {
    text += fmt::format("{}: accepted from {}\n", service, fold_hosts(from));
  }
  return text;
}

std::string title(const NetProbe& probe, const ProbedPairs& pairs) {
  std::size_t count = 0, failed = 0;
  double slowest = 0;
  for (const auto& [pair, what] : pairs) {
    const bool service =
        std::ranges::find(probe.nodes, pair.second, &ProbedNode::node) ==
        probe.nodes.end();
    count += service ? 0 : 1;
    failed += service || what.good() ? 0 : 1;
    slowest = service ? slowest : std::max(slowest, what.connected_ms);
  }
  const auto nodes =
      static_cast<std::size_t>(std::ranges::count_if(probe.nodes, answered));
  if (count == 0) {
    return fmt::format("{} node{}\n", nodes, nodes == 1 ? "" : "s");
  }
  return failed == 0
             ? fmt::format(
                   "{} nodes, {} pairs: all connect, in at most {}\n", nodes,
                   count,
                   human_duration(
                       std::chrono::duration_cast<std::chrono::nanoseconds>(
                           std::chrono::duration<double, std::milli>(slowest))))
             : fmt::format("{} nodes, {} pairs: {} fail{}\n", nodes, count,
                           failed, failed == 1 ? "s" : "");
}

}  // namespace

std::string net_probe_text(const NetProbe& probe, const Palette& out) {
  const ProbedPairs pairs = pairs_of(probe);
  std::string text = out.bold(title(probe, pairs));
  for (const auto& finding : probe.findings) {
    text += "  " + out.red(printable(finding.text)) + "\n";
  }
  for (const auto& note : probe.notes) {
    text += "  " + printable(note.text) + "\n";
  }
  for (const std::string& part :
       {failures(pairs).empty() || probe.nodes.size() < 2
            ? std::string()
            : matrix(probe, pairs, out),
        services_text(probe, pairs), interfaces_text(probe, out)}) {
    if (!part.empty()) {
      text += "\n" + foreign(part);
    }
  }
  return text;
}

}  // namespace hangdbg
