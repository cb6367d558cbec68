#include "diagnosis/jobs/stuck_flows.h"

#include <fmt/core.h>

#include <utility>

#include "base/text.h"

namespace hangdbg {

void find_stuck_flows(JobDiagnosis& job) {
  std::vector<RankConnections> ends;
  for (const RankDiagnosis& rank : job.ranks) {
    if (rank.found && !rank.call) {
      return;  // they wait for the rank that is not in a call
    }
    if (rank.connections) {
      ends.push_back({rank.rank, &*rank.connections});
    }
  }
  for (PeerFlow& flow : match_peers(ends, 0)) {
    if (flow.flow == Flow::Unreachable) {
      job.stuck_flows.push_back(std::move(flow));
    }
  }
}

std::string flow_text(const PeerFlow& flow) {
  const auto who = [](std::optional<int> rank, const SocketAddress& address) {
    return rank ? fmt::format("rank {}", *rank) : address.text();
  };
  const std::string from = who(flow.from, flow.sender);
  const std::string to = who(flow.to, flow.receiver);
  const std::string since =
      flow.quiet ? ", for " + human_duration(*flow.quiet) : "";
  return flow.state == TcpState::SynSent
             ? fmt::format("{} gets no answer from {}, to which it connects",
                           from, flow.receiver.text())
             : fmt::format(
                   "{} does not reach {}: {} bytes are sent again and again, "
                   "{} times by now{}",
                   from, to, flow.undelivered, flow.retransmits, since);
}

std::string far_end_text(const PeerFlow& flow) {
  if (!flow.to) {
    return fmt::format("no rank that was read has the end {} of it",
                       flow.receiver.text());
  }
  return fmt::format("rank {} has the other end{}", *flow.to,
                     flow.quiet ? ", to which nothing has come for " +
                                      human_duration(*flow.quiet)
                                : "");
}

}  // namespace hangdbg
