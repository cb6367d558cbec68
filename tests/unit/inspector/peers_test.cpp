// The two ends of a connection, and what is stuck on it.
#include "inspector/jobs/torch/peers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

SocketAddress at(std::uint8_t host, std::uint16_t port) {
  return SocketAddress::v4({10, 0, 0, host}, port);
}

struct Ranks {
  std::deque<Connections> all;
  std::vector<RankConnections> ranks;

  Connections& add(std::optional<int> rank, std::uint64_t network = 1) {
    all.push_back({.network = network});
    ranks.push_back({rank, &all.back()});
    return all.back();
  }
};

TcpSocket& connect(Connections& from,
                   const SocketAddress& local,
                   const SocketAddress& remote,
                   TcpState state = TcpState::Established) {
  from.connections.push_back(
      {static_cast<int>(from.connections.size()) + 3,
       TcpSocket{.inode = 1,
                 .local = local,
                 .remote = remote,
                 .state = state,
                 .progress = TcpProgress{.last_received = milliseconds(9000),
                                         .last_answered = milliseconds(1)}}});
  return from.connections.back().socket;
}

TEST(Peers, AreMatched) {
  Ranks job;
  connect(job.add(0), at(1, 500), at(1, 7000)).progress->last_received =
      milliseconds(42000);
  connect(job.add(1), at(1, 7000), at(1, 500));
  const auto flows = match_peers(job.ranks, 0);
  ASSERT_EQ(flows.size(), 2U);
  EXPECT_EQ(flows[0].from, 1);
  EXPECT_EQ(flows[0].to, 0);
  EXPECT_EQ(flows[0].quiet, milliseconds(42000));
  EXPECT_EQ(flows[0].flow, Flow::Quiet);
  EXPECT_EQ(flows[1].from, 0);
  EXPECT_EQ(flows[1].to, 1);
  EXPECT_EQ(flows[1].quiet, milliseconds(9000));
  EXPECT_EQ(flows[1].sender, at(1, 500));
}

TEST(Peers, WhoDoesNotReadComesBeforeWhoIsQuiet) {
  Ranks job;
  auto& zero = job.add(0);
  auto& one = job.add(1);
  auto& two = job.add(2);
  connect(zero, at(1, 500), at(1, 7001));
  connect(one, at(1, 7001), at(1, 500));
  connect(zero, at(1, 501), at(1, 7002)).unacknowledged = 8;
  connect(two, at(1, 7002), at(1, 501)).unread = 96;
  const auto flows = match_peers(job.ranks, 0);
  ASSERT_EQ(flows.size(), 4U);
  EXPECT_EQ(flows[0].flow, Flow::Unread);
  EXPECT_EQ(flows[0].from, 0);
  EXPECT_EQ(flows[0].to, 2);
  EXPECT_EQ(flows[0].unread, 96U);
  EXPECT_EQ(flows[0].undelivered, 8U);
  EXPECT_EQ(flows[1].flow, Flow::Quiet);
}

TEST(Peers, OnOtherMachines) {
  Ranks job;
  auto& zero = job.add(0);
  auto& lost = connect(zero, at(1, 500), at(2, 7001));
  lost.unacknowledged = 1000;
  lost.retransmits = 6;
  lost.progress->last_answered = milliseconds(30000);
  connect(zero, at(1, 501), at(3, 7001), TcpState::SynSent).unacknowledged = 1;
  connect(zero, at(1, 502), at(4, 7001)).unacknowledged = 5;
  const auto flows = match_peers(job.ranks, 0);
  ASSERT_EQ(flows.size(), 6U);
  EXPECT_EQ(flows[0].flow, Flow::Unreachable);
  EXPECT_EQ(flows[0].from, 0);
  EXPECT_FALSE(flows[0].to);
  EXPECT_EQ(flows[0].receiver, at(2, 7001));
  EXPECT_EQ(flows[0].quiet, milliseconds(30000));
  EXPECT_EQ(flows[1].flow, Flow::Unreachable);
  EXPECT_EQ(flows[1].state, TcpState::SynSent);
  EXPECT_EQ(flows[2].flow, Flow::Undelivered);
}

TEST(Peers, ThatAreGone) {
  Ranks job;
  connect(job.add(0), at(1, 500), at(1, 7001), TcpState::CloseWait);
  auto& one = job.add(1);
  connect(one, at(1, 600), at(1, 7002), TcpState::FinWait2);
  const auto flows = match_peers(job.ranks, 0);
  ASSERT_EQ(flows.size(), 4U);
  const auto is_closed = [](const PeerFlow& flow) {
    return flow.flow == Flow::Closed;
  };
  ASSERT_EQ(std::ranges::count_if(flows, is_closed), 2);
  // The end that has closed is unknown, or is rank 1.
  EXPECT_EQ(flows[0].to.has_value() ? flows[0].to : flows[1].to, 0);
  EXPECT_TRUE(flows[0].from == 1 || flows[1].from == 1);
}

TEST(Peers, OfTheStoreAndTheLauncher) {
  Ranks job;
  auto& launcher = job.add(std::nullopt);
  auto& zero = job.add(0);
  connect(launcher, at(1, 29500), at(1, 7000)).unread = 30;
  connect(zero, at(1, 7000), at(1, 29500));
  connect(launcher, at(1, 9999), at(9, 80));  // not the job's
  connect(launcher, at(1, 29500), {}, TcpState::Listen);
  const auto flows = match_peers(job.ranks, 29500);
  ASSERT_EQ(flows.size(), 2U);
  EXPECT_TRUE(flows[0].store);
  EXPECT_TRUE(flows[1].store);
  EXPECT_EQ(flows[0].flow, Flow::Unread);
  EXPECT_EQ(flows[0].from, 0);
  EXPECT_FALSE(flows[0].to);
  EXPECT_FALSE(match_peers(job.ranks, 1)[0].store);
}

// 127.0.0.1 of one container is not that of another.
TEST(Peers, InNetworksOfTheirOwn) {
  const auto local = SocketAddress::v4({127, 0, 0, 1}, 500);
  const auto remote = SocketAddress::v4({127, 0, 0, 1}, 600);
  Ranks apart;
  connect(apart.add(0, 1), local, remote);
  connect(apart.add(1, 2), remote, local);
  for (const PeerFlow& flow : match_peers(apart.ranks, 0)) {
    EXPECT_FALSE(flow.from && flow.to);
  }
  Ranks beside;
  connect(beside.add(0, 1), at(1, 500), at(2, 600));
  connect(beside.add(1, 2), at(2, 600), at(1, 500));
  for (const PeerFlow& flow : match_peers(beside.ranks, 0)) {
    EXPECT_TRUE(flow.from && flow.to);
  }
}

TEST(Peers, OfNobody) {
  EXPECT_TRUE(match_peers({}, 29500).empty());
}

}  // namespace
}  // namespace hangdbg
