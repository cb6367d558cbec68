#include "client/probe/own_network.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/host_name.h"
#include "client/probe/choices.h"
#include "client/probe/names.h"
#include "inspector/jobs/jobs.h"
#include "inspector/ranks/rank_identity.h"
#include "nodes/probing/exchange.h"
#include "tracee/net/interfaces.h"
#include "tracee/program/environment.h"

namespace hangdbg {
namespace {

using reports::OwnNetwork;

Result<std::vector<reports::ProbedInterface>> own_interfaces(
    Deadline deadline) {
  std::vector<reports::ProbedInterface> all;
  for (const Interface& one : TRY(read_interfaces(::getpid(), deadline))) {
    reports::ProbedInterface& shown = all.emplace_back(
        reports::ProbedInterface{.name = one.name,
                                 .state = !one.up        ? "down"
                                          : !one.running ? "no carrier"
                                                         : "up",
                                 .mtu = one.mtu});
    if (const auto speed = interface_speed(one.name)) {
      shown.speed_mbps = *speed;
    }
    for (const SocketAddress& address : one.addresses) {
      shown.addresses.push_back(address.host_text());
    }
  }
  return all;
}

// Those of the ranks of all jobs here, each set once.
struct RankVariables {
  std::vector<ChoiceVariables> choices;
  std::vector<std::string> services;
};

RankVariables read_rank_variables(Deadline deadline) {
  RankVariables all;
  const auto found = find_jobs(deadline);
  if (!found) {
    return all;
  }
  for (const Job& job : found->jobs) {
    for (const JobRank& rank : job.ranks) {
      const auto environment = Environment::read(rank.pid);
      if (!environment) {
        continue;
      }
      const auto text = [&](std::string_view name) {
        return std::string(environment->find(name).value_or(""));
      };
      ChoiceVariables one{.gloo = text("GLOO_SOCKET_IFNAME"),
                          .nccl = text("NCCL_SOCKET_IFNAME"),
                          .ranks = true};
      const bool known = std::ranges::any_of(all.choices, [&](const auto& its) {
        return its.gloo == one.gloo && its.nccl == one.nccl;
      });
      if (!known) {
        all.choices.push_back(std::move(one));
      }
      std::string service = rendezvous_address(*environment);
      if (!service.empty() &&
          std::ranges::find(all.services, service) == all.services.end()) {
        all.services.push_back(std::move(service));
      }
    }
  }
  return all;
}

}  // namespace

Result<OwnNetwork> read_own_network(Deadline deadline) {
  OwnNetwork own{.host = host_name()};
  own.interfaces = TRY(own_interfaces(deadline));
  const auto names =
      resolve_names({own.host}, deadline.capped(std::chrono::seconds(3)));
  RankVariables ranks =
      read_rank_variables(deadline.capped(deadline.left() / 2));
  own.services = std::move(ranks.services);
  if (ranks.choices.empty()) {
    ranks.choices.push_back({});
  }
  for (const ChoiceVariables& one : ranks.choices) {
    if (names.front().addresses) {
      if (auto gloo =
              choice_of_gloo(one, *names.front().addresses, own.interfaces)) {
        own.choices.push_back(*std::move(gloo));
      }
    }
    if (auto nccl = choice_of_nccl(one, own.interfaces)) {
      own.choices.push_back(*std::move(nccl));
    }
  }
  // Free at this moment: gloo and NCCL listen on such ports, too.
  own.port = TRY(open_probe_listener(0)).port;
  return own;
}

}  // namespace hangdbg
