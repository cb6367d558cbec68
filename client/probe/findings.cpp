#include "client/probe/findings.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "base/text.h"
#include "client/probe/choices.h"
#include "nodes/hosts/host_list.h"

namespace hangdbg {
namespace {

using reports::NetProbe;
using reports::ProbedConnection;
using reports::ProbedNode;
using reports::ProbeFinding;
using Names = std::vector<std::string>;

struct ResultRow {
  std::string_view result, text;
  int badness;
};
constexpr std::array<ResultRow, 12> kResults = {{
    {"whole", "ok", 0},
    {"accepted", "accepted", 0},
    {"large-lost-there", "large packets are lost on the way there", 1},
    {"large-lost-back", "large packets are lost on the way back", 1},
    {"silent", "accepted, and nothing came back", 2},
    {"refused", "refused", 3},
    {"no-answer", "no answer", 4},
    {"other-node", "another node answers", 5},
    {"other-program", "another program answers", 5},
    {"no-route", "no route", 6},
    {"failed", "fails", 6},
    {"not-resolved", "the name does not resolve", 7},
}};

const ResultRow& row_of(const std::string& result) {
  const auto* const found =
      std::ranges::find(kResults, result, &ResultRow::result);
  return found == kResults.end() ? kResults[10] : *found;
}

const ProbedNode* node_of(const NetProbe& probe, const std::string& name) {
  const auto found = std::ranges::find(probe.nodes, name, &ProbedNode::node);
  return found == probe.nodes.end() ? nullptr : &*found;
}

// In the order of the nodes.
Names in_order(const NetProbe& probe, const std::set<std::string>& some) {
  Names all;
  for (const ProbedNode& node : probe.nodes) {
    if (some.contains(node.node)) {
      all.push_back(node.node);
    }
  }
  return all;
}

Names both(const NetProbe& probe, const Names& one, const Names& other) {
  std::set<std::string> all(one.begin(), one.end());
  all.insert(other.begin(), other.end());
  return in_order(probe, all);
}

std::string interface_of(const ProbedNode& node, const std::string& address) {
  for (const auto& one : node.interfaces) {
    if (std::ranges::find(one.addresses, address) != one.addresses.end()) {
      return one.name;
    }
  }
  return {};
}

// What fails in one way: from these nodes to these nodes, or to a service.
struct Failing {
  std::set<std::string> from, to;
  std::string text;
  bool service = false;
};

// What fails from the same nodes in the same way is one.
std::vector<Failing> failing_pairs(const NetProbe& probe,
                                   const ProbedPairs& pairs) {
  std::vector<Failing> by_target;
  for (const auto& [pair, what] : pairs) {
    if (what.good()) {
      continue;
    }
    const std::string text = result_text(what.result, what.error);
    auto known = std::ranges::find_if(by_target, [&](const Failing& one) {
      return one.text == text && one.to.contains(pair.second);
    });
    if (known == by_target.end()) {
      known = by_target.insert(
          known, {.to = {pair.second},
                  .text = text,
                  .service = node_of(probe, pair.second) == nullptr});
    }
    known->from.insert(pair.first);
  }
  std::vector<Failing> all;
  for (Failing& one : by_target) {
    const auto same = std::ranges::find_if(all, [&](const Failing& other) {
      return !one.service && !other.service && other.text == one.text &&
             other.from == one.from;
    });
    if (same == all.end()) {
      all.push_back(std::move(one));
    } else {
      same->to.insert(one.to.begin(), one.to.end());
    }
  }
  // What concerns the most pairs comes first.
  std::ranges::stable_sort(all, [](const Failing& one, const Failing& other) {
    return one.from.size() * one.to.size() >
           other.from.size() * other.to.size();
  });
  return all;
}

// "n3 (10.0.0.3, eth0)", "n[3-4]", "n1:29500 (10.0.0.1)".
std::string target_text(const NetProbe& probe,
                        const ProbedPairs& pairs,
                        const Failing& one) {
  const std::string& first = *one.to.begin();
  if (one.to.size() > 1) {
    return fold_hosts(in_order(probe, one.to));
  }
  const std::string& address = pairs.at({*one.from.begin(), first}).address;
  const ProbedNode* const node = node_of(probe, first);
  const std::string interface =
      node == nullptr ? "" : interface_of(*node, address);
  if (address.empty() || first.find(address) != std::string::npos) {
    return first;
  }
  return fmt::format("{} ({}{}{})", first, address,
                     interface.empty() ? "" : ", ", interface);
}

void find_failing_pairs(NetProbe& probe, const ProbedPairs& pairs) {
  for (const Failing& one : failing_pairs(probe, pairs)) {
    const Names from = in_order(probe, one.from);
    probe.findings.push_back(
        {.kind = one.service ? "service" : "pair",
         .nodes = both(probe, from, in_order(probe, one.to)),
         .text = fmt::format("{} -> {}: {}", fold_hosts(from),
                             target_text(probe, pairs, one), one.text)});
  }
}

// A name of a node that resolves differently on some.
void find_names(NetProbe& probe) {
  // name -> what it resolves to -> where
  std::map<std::string, std::map<Names, std::set<std::string>>> all;
  for (const ProbedNode& node : probe.nodes) {
    for (const auto& name : node.names) {
      if (name.addresses) {
        Names sorted = *name.addresses;
        std::ranges::sort(sorted);
        all[name.name][sorted].insert(node.node);
      }
    }
  }
  for (const auto& [name, answers] : all) {
    const auto owner =
        std::ranges::find_if(probe.nodes, [&](const ProbedNode& node) {
          return node.node == name || node.host == name;
        });
    for (const auto& [addresses, nodes] : answers) {
      std::set<std::string> where = nodes;
      bool right = true;
      std::string own;
      if (addresses.empty()) {
        right = answers.size() == 1;  // no name of the network
      } else if (owner != probe.nodes.end()) {
        where.erase(owner->node);  // it may well be 127.0.1.1 at home
        for (const auto& one : owner->interfaces) {
          for (const std::string& address : one.addresses) {
            if (!is_local_alone(address)) {
              own += (own.empty() ? "" : ", ") + address;
            }
          }
        }
        // By a translated address it is reached as well.
        right = std::ranges::any_of(addresses, [&](const auto& address) {
          return !interface_of(*owner, address).empty() &&
                 !is_loopback(address);
        });
        right |= std::ranges::any_of(
            probe.connections, [&](const ProbedConnection& one) {
              return one.to == owner->node && one.result == "whole" &&
                     std::ranges::find(addresses, one.address) !=
                         addresses.end();
            });
      } else {
        // No node's: the same for most.
        const auto most = std::ranges::max_element(
            answers, {}, [](const auto& one) { return one.second.size(); });
        right = most->first == addresses;
        own = fmt::format("{}", fmt::join(most->first, ", "));
      }
      const Names here = in_order(probe, where);
      if (right || here.empty()) {
        continue;
      }
      probe.findings.push_back(
          {.kind = "name",
           .nodes = here,
           .text = addresses.empty()
                       ? fmt::format("{} does not resolve on {}", name,
                                     fold_hosts(here))
                       : fmt::format(
                             "{} is {} on {}, and {} has {}", name,
                             fmt::join(addresses, ", "), fold_hosts(here),
                             owner == probe.nodes.end() ? "elsewhere it" : name,
                             own)});
    }
  }
}

// The nodes that do not reach `address` of `node`, though they reach the node.
std::set<std::string> not_reaching(const NetProbe& probe,
                                   const ProbedPairs& pairs,
                                   const ProbedNode& node,
                                   const std::string& address) {
  std::set<std::string> all;
  for (const ProbedNode& other : probe.nodes) {
    const auto pair = pairs.find({other.node, node.node});
    if (pair == pairs.end() || !pair->second.good()) {
      continue;
    }
    const bool reached =
        std::ranges::any_of(probe.connections, [&](const auto& one) {
          return one.from == other.node && one.to == node.node &&
                 one.address == address && one.result == "whole";
        });
    if (!reached) {
      all.insert(other.node);
    }
  }
  return all;
}

void find_wrong_choices(NetProbe& probe, const ProbedPairs& pairs) {
  struct Wrong {
    std::set<std::string> nodes, from;
    std::string variable;
  };
  std::map<std::pair<bool, std::string>, Wrong> all;
  for (const ProbedNode& node : probe.nodes) {
    for (const auto& choice : node.choices) {
      const auto from = not_reaching(probe, pairs, node, choice.address);
      if (from.empty()) {
        continue;
      }
      const bool gloo = choice.library == "gloo";
      Wrong& wrong =
          all[{choice.ranks, fmt::format("{} {} {} ({})", choice.library,
                                         choice.ranks ? "uses" : "would use",
                                         choice.interface, choice.reason)}];
      wrong.nodes.insert(node.node);
      wrong.from.insert(from.begin(), from.end());
      const auto pair = pairs.at({*from.begin(), node.node});
      wrong.variable =
          fmt::format("{}_SOCKET_IFNAME={}", gloo ? "GLOO" : "NCCL",
                      interface_of(node, pair.address));
    }
  }
  for (const auto& [what, wrong] : all) {
    const Names nodes = in_order(probe, wrong.nodes);
    ProbeFinding finding{
        .kind = "interface",
        .nodes = nodes,
        .text = fmt::format("{}: {}, where {} does not reach {}; {} is reached",
                            fold_hosts(nodes), what.second,
                            nodes.size() == 1
                                ? fold_hosts(in_order(probe, wrong.from))
                                : "another node",
                            nodes.size() == 1 ? "it" : "them", wrong.variable)};
    (what.first ? probe.findings : probe.notes).push_back(std::move(finding));
  }
}

// Of interfaces of one name, and those that are down with an address.
void find_differing_interfaces(NetProbe& probe) {
  std::map<std::string, std::map<std::int64_t, std::set<std::string>>> mtus;
  std::map<std::string, std::set<std::string>> down;
  for (const ProbedNode& node : probe.nodes) {
    for (const auto& one : node.interfaces) {
      const bool used = std::ranges::any_of(
          one.addresses, [](const auto& it) { return !is_local_alone(it); });
      if (used && one.state == "up") {
        mtus[one.name][one.mtu].insert(node.node);
      } else if (used) {
        down[fmt::format("{} is {}", one.name,
                         one.state == "down" ? "down" : "without carrier")]
            .insert(node.node);
      }
    }
  }
  for (const auto& [name, sizes] : mtus) {
    if (sizes.size() < 2) {
      continue;
    }
    std::string text;
    std::set<std::string> fewest;
    for (const auto& [mtu, nodes] : sizes) {
      text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", mtu,
                          fold_hosts(in_order(probe, nodes)));
      if (fewest.empty() || nodes.size() < fewest.size()) {
        fewest = nodes;
      }
    }
    probe.findings.push_back(
        {.kind = "mtu",
         .nodes = in_order(probe, fewest),
         .text = fmt::format("the MTU of {} is {}", name, text)});
  }
  for (const auto& [what, nodes] : down) {
    const Names here = in_order(probe, nodes);
    probe.notes.push_back(
        {.kind = "interface",
         .nodes = here,
         .text = fmt::format("{}: {}", fold_hosts(here), what)});
  }
}

}  // namespace

ProbedPairs pairs_of(const NetProbe& probe) {
  ProbedPairs pairs;
  for (const ProbedConnection& one : probe.connections) {
    auto [at, is_new] = pairs.try_emplace({one.from, one.to});
    ProbedPair& pair = at->second;
    if (is_new || row_of(one.result).badness < row_of(pair.result).badness) {
      pair = {one.result, one.address, one.error.value_or(""),
              one.connected_ms.value_or(0)};
    }
  }
  return pairs;
}

void find_faults(NetProbe& probe) {
  const ProbedPairs pairs = pairs_of(probe);
  find_failing_pairs(probe, pairs);
  find_names(probe);
  find_wrong_choices(probe, pairs);
  find_differing_interfaces(probe);
}

std::string result_text(const std::string& result, const std::string& error) {
  const ResultRow& row = row_of(result);
  if (error.empty()) {
    return std::string(row.text);
  }
  return row.badness == 6 ? error : fmt::format("{} ({})", row.text, error);
}

std::map<std::string, Names> reachable_addresses(
    const std::vector<ProbedNode>& nodes) {
  constexpr std::size_t kMost = 8;
  std::map<std::string, int> owners;
  for (const ProbedNode& node : nodes) {
    for (const auto& one : node.interfaces) {
      for (const std::string& address : one.addresses) {
        ++owners[address];
      }
    }
  }
  std::map<std::string, Names> all;
  for (const ProbedNode& node : nodes) {
    Names shared, own;
    for (const auto& one : node.interfaces) {
      for (const std::string& address : one.addresses) {
        if (one.state == "up" && !is_local_alone(address)) {
          (owners[address] > 1 ? shared : own).push_back(address);
        }
      }
    }
    // Nodes that are one machine have no other.
    Names& chosen = own.empty() ? shared : own;
    chosen.resize(std::min(chosen.size(), kMost));
    all[node.node] = std::move(chosen);
  }
  return all;
}

}  // namespace hangdbg
