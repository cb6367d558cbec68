#include "client/probe/seen_pairs.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "base/host_name.h"
#include "base/text.h"
#include "client/probe/choices.h"
#include "client/probe/names.h"
#include "nodes/probing/exchange.h"
#include "nodes/probing/wire.h"
#include "tracee/net/interfaces.h"

namespace hangdbg {
namespace {

using reports::ProbedConnection;
using reports::ProbePeer;
using reports::ProbePlan;
using reports::ProbeSeen;

constexpr auto kToResolve = std::chrono::seconds(3);

struct Self {
  std::size_t number = 0;
  ProbeListener listener;
};

// The peer that has this machine's name and addresses, and whose port is free:
// two nodes may be one machine.
Result<Self> find_self(const ProbePlan& plan, Deadline deadline) {
  std::set<std::string> own;
  for (const Interface& one : TRY(read_interfaces(::getpid(), deadline))) {
    for (const SocketAddress& address : one.addresses) {
      own.insert(address.host_text());
    }
  }
  Error why{.id = ErrorId::System,
            .message =
                "this machine has got other addresses since the probe "
                "began"};
  for (std::size_t at = 0; at < plan.peers.size(); ++at) {
    const ProbePeer& peer = plan.peers[at];
    const bool is_it =
        peer.host == host_name() &&
        std::ranges::all_of(peer.addresses,
                            [&](const auto& one) { return own.contains(one); });
    if (!is_it) {
      continue;
    }
    auto listener = open_probe_listener(static_cast<std::uint16_t>(peer.port));
    if (listener) {
      return Self{at, *std::move(listener)};
    }
    why = listener.error();
  }
  return std::unexpected(std::move(why));
}

// A target of the exchange, and what it is called.
struct Targets {
  std::vector<ProbeTarget> targets;
  std::vector<std::string> names;

  void add(ProbeTarget target, std::string name) {
    targets.push_back(std::move(target));
    names.push_back(std::move(name));
  }
};

std::vector<std::string> names_to_resolve(
    const ProbePlan& plan,
    const std::vector<ProbedService>& services) {
  std::vector<std::string> all;
  const auto add = [&](const std::string& name) {
    // What is an address already stays out.
    const bool address =
        name.find_first_not_of("0123456789.") == std::string::npos ||
        name.find(':') != std::string::npos;
    if (!name.empty() && !address &&
        std::ranges::find(all, name) == all.end()) {
      all.push_back(name);
    }
  };
  for (const ProbePeer& peer : plan.peers) {
    const auto at = peer.node.find('@');
    add(at == std::string::npos ? peer.node : peer.node.substr(at + 1));
    add(peer.host);
  }
  for (const ProbedService& service : services) {
    add(service.host);
  }
  return all;
}

Targets make_targets(const ProbePlan& plan,
                     std::size_t self,
                     const std::vector<reports::ProbedName>& names) {
  Targets all;
  for (std::size_t at = 0; at < plan.peers.size(); ++at) {
    const ProbePeer& peer = plan.peers[at];
    if (at == self) {
      continue;
    }
    std::vector<std::string> addresses = peer.addresses;
    for (const auto& name : names) {
      if (name.name == peer.node || name.name == peer.host) {
        for (const std::string& one :
             name.addresses.value_or(std::vector<std::string>())) {
          if (!is_local_alone(one) &&
              std::ranges::find(addresses, one) == addresses.end()) {
            addresses.push_back(one);
          }
        }
      }
    }
    for (const std::string& address : addresses) {
      all.add({.address = address,
               .port = static_cast<std::uint16_t>(peer.port),
               .node = static_cast<int>(at)},
              peer.node);
    }
  }
  return all;
}

ProbedConnection connection_of(const ProbePlan& plan,
                               const ProbeTarget& target,
                               const std::string& to,
                               const ProbeOutcome& outcome) {
  ProbedConnection one{.to = to,
                       .address = target.address,
                       .result = std::string(reach_name(outcome.reach))};
  if (outcome.segment > 0) {
    one.connected_ms = outcome.took_ms;
    one.segment = outcome.segment;
  }
  const auto other = static_cast<std::size_t>(outcome.other_node);
  if (outcome.reach == Reach::OtherNode && other < plan.peers.size()) {
    one.error = plan.peers[other].node;
  } else if (outcome.reach == Reach::Failed ||
             outcome.reach == Reach::NoRoute) {
    one.error = std::strerror(outcome.error);
  }
  return one;
}

Status check(const ProbePlan& plan) {
  const bool sane = !plan.peers.empty() &&
                    plan.peers.size() <= kMostProbeNodes &&
                    plan.secret.size() == kProbeSecret && plan.seconds > 0 &&
                    plan.seconds <= 600 &&
                    std::ranges::all_of(plan.peers, [](const ProbePeer& peer) {
                      return peer.port > 0 && peer.port < 65536 &&
                             peer.addresses.size() <= 64;
                    });
  return sane ? Status()
              : fail(ErrorId::BadMessage, "this is no plan of a probe");
}

}  // namespace

Result<ProbeSeen> see_pairs(const ProbePlan& plan, Deadline deadline) {
  TRY(check(plan));
  std::vector<ProbedService> services;
  for (const std::string& text : plan.services) {
    services.push_back(TRY(parse_service(text)));
  }
  Self self = TRY(find_self(plan, deadline));
  ProbeSeen seen{.self = static_cast<std::int64_t>(self.number)};
  seen.names = resolve_names(names_to_resolve(plan, services),
                             deadline.capped(kToResolve));
  Targets all = make_targets(plan, self.number, seen.names);
  for (std::size_t at = 0; at < services.size(); ++at) {
    const auto& [host, port] = services[at];
    const auto name =
        std::ranges::find(seen.names, host, &reports::ProbedName::name);
    if (name == seen.names.end()) {
      all.add({.address = host, .port = port}, plan.services[at]);
    } else if (name->addresses && !name->addresses->empty()) {
      // As a program does that takes the first.
      all.add({.address = name->addresses->front(), .port = port},
              plan.services[at]);
    } else {
      seen.connections.push_back(
          {.to = plan.services[at], .result = "not-resolved"});
    }
  }
  const auto outcomes = exchange_with_nodes(
      std::move(self.listener),
      {.secret = plan.secret,
       .number = static_cast<int>(self.number),
       .count = static_cast<int>(plan.peers.size())},
      all.targets,
      deadline.capped(std::chrono::duration_cast<Deadline::Clock::duration>(
          std::chrono::duration<double>(plan.seconds))));
  for (std::size_t at = 0; at < outcomes.size(); ++at) {
    seen.connections.push_back(
        connection_of(plan, all.targets[at], all.names[at], outcomes[at]));
  }
  return seen;
}

Result<ProbedService> parse_service(const std::string& text) {
  const auto colon = text.rfind(':');
  const std::string_view all = text;
  std::string_view host = all.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : parse_number<std::uint16_t>(all.substr(colon + 1));
  if (!port || *port == 0 || host.empty() || host.starts_with('-') ||
      host.size() > 255) {
    return fail(
        ErrorId::Usage,
        fmt::format("--probe {}: this is no HOST:PORT", printable(text)),
        "--probe node01:29500");
  }
  return ProbedService{std::string(host), *port};
}

}  // namespace hangdbg
