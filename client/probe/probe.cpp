#include "client/probe/probe.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "base/host_name.h"
#include "base/text.h"
#include "client/nodes/gather.h"
#include "client/nodes/own_job.h"
#include "client/probe/choices.h"
#include "client/probe/findings.h"
#include "client/probe/own_network.h"
#include "client/probe/seen_pairs.h"
#include "client/probe/text.h"
#include "client/terminal/render.h"
#include "client/terminal/typed.h"
#include "nodes/probing/wire.h"
#include "protocol/base64.h"
#include "protocol/json.h"

namespace hangdbg {
namespace {

using reports::NetProbe;
using reports::OwnNetwork;
using reports::ProbedNode;
using reports::ProbePlan;
using reports::ProbeSeen;

constexpr std::string_view kFirstQuestion = "self";

std::string make_secret() {
  std::array<std::uint8_t, kProbeSecret / 2> random{};
  (void)!::getrandom(random.data(), random.size(), 0);
  std::string text;
  for (const std::uint8_t byte : random) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

// What the command line of a question is, behind "hangdbg".
std::vector<std::string> question_words(const CommonOptions& common,
                                        const std::string& question) {
  return {"net", "--probe-question", question, "--timeout",
          fmt::format("{}", common.timeout_s)};
}

// A job that is on one machine meets there.
bool is_of_one_machine(const std::string& host) {
  return host == "localhost" || is_loopback(host);
}

// A node's answer; what is none is why it has failed.
template <class T>
Result<T> read_answer(const NodeAnswer& answer) {
  const auto json = Json::parse(answer.out);
  auto read =
      json ? decode<T>(*json) : Result<T>(std::unexpected(json.error()));
  if (read) {
    return read;
  }
  const auto none =
      json ? decode<reports::NoAnswer>(*json) : std::unexpected(json.error());
  const std::string said(trim(answer.err).substr(0, 300));
  return fail(ErrorId::NodeFailed, none           ? none->error.message
                                   : said.empty() ? read.error().message
                                                  : said);
}

struct Probe {
  const ProbeOptions& options;
  std::vector<std::string> order;  // of the nodes
  std::map<std::string, ProbedNode> nodes = {};
  std::map<std::string, OwnNetwork> own = {};
  std::vector<FailedNode> failed = {};
  std::vector<reports::ProbedConnection> connections = {};

  template <class T>
  Status ask(const std::string& how,
             const std::string& question,
             const std::function<Status(const std::string&, T)>& take);
  Status first(const std::string& how);
  Status second(const std::string& how);
  ProbePlan plan() const;
  Status take(const std::string& node, const ProbePlan& plan, ProbeSeen seen);
  NetProbe result() const;
};

template <class T>
Status Probe::ask(const std::string& how,
                  const std::string& question,
                  const std::function<Status(const std::string&, T)>& take) {
  AskedNodes asked = TRY(gather_from_nodes(
      {.how = how}, options.common, question_words(options.common, question),
      [&](const NodeAnswer& answer) {
        auto read = read_answer<T>(answer);
        const auto taken = read ? take(answer.node, *std::move(read))
                                : Status(std::unexpected(read.error()));
        if (!taken) {
          failed.push_back({answer.node, taken.error()});
        }
      },
      {.together = true}));
  std::ranges::move(asked.failed, std::back_inserter(failed));
  return {};
}

Status Probe::first(const std::string& how) {
  return ask<OwnNetwork>(
      how, std::string(kFirstQuestion),
      [&](const std::string& node, OwnNetwork answer) -> Status {
        nodes[node] = {.node = node,
                       .host = answer.host,
                       .interfaces = answer.interfaces,
                       .choices = answer.choices};
        own[node] = std::move(answer);
        return {};
      });
}

ProbePlan Probe::plan() const {
  constexpr double kMostSeconds = 30;
  ProbePlan made{
      .secret = make_secret(),
      .seconds = std::min(options.common.timeout_s / 2, kMostSeconds),
      .services = options.services};
  std::vector<ProbedNode> all;
  for (const auto& [name, node] : nodes) {
    all.push_back(node);
  }
  auto addresses = reachable_addresses(all);
  for (const std::string& node : order) {
    const auto known = own.find(node);
    if (known == own.end()) {
      continue;
    }
    const OwnNetwork& network = known->second;
    made.peers.push_back({.node = node,
                          .host = network.host,
                          .addresses = std::move(addresses[node]),
                          .port = network.port});
    for (const std::string& service : network.services) {
      const auto parsed = parse_service(service);
      if (std::ranges::find(made.services, service) == made.services.end() &&
          parsed && (order.size() == 1 || !is_of_one_machine(parsed->host))) {
        made.services.push_back(service);
      }
    }
  }
  return made;
}

Status Probe::second(const std::string& how) {
  const ProbePlan asked = plan();
  if (asked.peers.empty()) {
    return {};
  }
  return ask<ProbeSeen>(how, to_base64(encode(asked).dump()),
                        [&](const std::string& node, ProbeSeen seen) {
                          return take(node, asked, std::move(seen));
                        });
}

// Where several nodes are one machine, it says itself which it has been.
Status Probe::take(const std::string& node,
                   const ProbePlan& plan,
                   ProbeSeen seen) {
  const auto self = static_cast<std::size_t>(seen.self);
  if (seen.self < 0 || self >= plan.peers.size() ||
      plan.peers[self].host != own[node].host) {
    return fail(ErrorId::BadMessage, "its answer is another node's");
  }
  const std::string& name = plan.peers[self].node;
  nodes[name].names = std::move(seen.names);
  for (auto& one : seen.connections) {
    one.from = name;
    connections.push_back(std::move(one));
  }
  return {};
}

NetProbe Probe::result() const {
  NetProbe made;
  for (const std::string& name : order) {
    const auto known = nodes.find(name);
    ProbedNode node =
        known == nodes.end() ? ProbedNode{.node = name} : known->second;
    const auto why = std::ranges::find(failed, name, &FailedNode::node);
    if (why != failed.end()) {
      node.error = reports::ReportedError{.type = error_name(why->why.id),
                                          .message = why->why.text()};
    }
    made.nodes.push_back(std::move(node));
  }
  made.connections = connections;
  std::ranges::sort(made.connections, {}, [](const auto& one) {
    return std::tie(one.from, one.to, one.address);
  });
  find_faults(made);
  return made;
}

// This machine alone: no other is queried.
Result<NetProbe> probe_here(const ProbeOptions& options) {
  const Deadline deadline = options.common.deadline();
  Probe probe{.options = options, .order = {host_name()}};
  const std::string& self = probe.order.front();
  OwnNetwork network = TRY(read_own_network(deadline));
  probe.nodes[self] = {.node = self,
                       .host = network.host,
                       .interfaces = network.interfaces,
                       .choices = network.choices};
  probe.own[self] = std::move(network);
  const ProbePlan plan = probe.plan();
  TRY(probe.take(self, plan, TRY(see_pairs(plan, deadline))));
  return probe.result();
}

Result<NetProbe> probe_nodes(const ProbeOptions& options,
                             std::vector<FailedNode>& failed) {
  const auto launcher = TRY(chosen_launcher(options.via, options.common));
  if (launcher->nodes().size() > kMostProbeNodes) {
    return fail(ErrorId::Usage,
                fmt::format("--probe takes at most {} nodes, since each "
                            "connects to each; these are {}",
                            kMostProbeNodes, launcher->nodes().size()),
                typed_with("--via", "LAUNCHER:NODES"));
  }
  Probe probe{.options = options, .order = launcher->nodes()};
  TRY(probe.first(options.via.how));
  TRY(probe.second(options.via.how));
  // Of those that did not answer at first nothing else is to be said.
  std::ranges::stable_sort(probe.failed, {}, &FailedNode::node);
  const auto twice = std::ranges::unique(probe.failed, {}, &FailedNode::node);
  probe.failed.erase(twice.begin(), twice.end());
  failed = probe.failed;
  return probe.result();
}

}  // namespace

Result<int> probe_network(const ProbeOptions& options) {
  TRY(options.common.configure_log());
  for (const std::string& service : options.services) {
    TRY(parse_service(service));
  }
  std::vector<FailedNode> failed;
  const NetProbe found = TRY(options.via.given() ? probe_nodes(options, failed)
                                                 : probe_here(options));
  if (failed.size() == found.nodes.size()) {
    if (!options.common.json) {
      report_failed(failed, Palette(options.common.colour, stderr));
      return exit_code(failed.front().why.id);
    }
  }
  if (options.common.json) {
    print_json(encode(found));
  } else {
    print_now(stdout,
              net_probe_text(found, Palette(options.common.colour, stdout)));
    report_failed(failed, Palette(options.common.colour, stderr));
  }
  return found.findings.empty() && failed.empty() ? 0 : 1;
}

Result<int> answer_probe(const std::string& question,
                         const CommonOptions& common) {
  answer_as_json();
  TRY(common.configure_log());
  const Deadline deadline = common.deadline();
  if (question == kFirstQuestion) {
    print_json(encode(TRY(read_own_network(deadline))));
    return 0;
  }
  const auto plan =
      TRY(decode<ProbePlan>(TRY(Json::parse(TRY(from_base64(question))))));
  print_json(encode(TRY(see_pairs(plan, deadline))));
  return 0;
}

}  // namespace hangdbg
