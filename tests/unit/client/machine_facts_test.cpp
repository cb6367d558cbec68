// Differences that are reported between the machines of a job.
#include "client/nodes/machine_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/views/diagnose/travelling_connections.h"

namespace hangdbg {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<FactsOfNode> alike(int count) {
  std::vector<FactsOfNode> nodes;
  for (int i = 1; i <= count; ++i) {
    const MachineFacts facts = {{"NCCL", "2.21.5"}, {"OMP_NUM_THREADS", "4"}};
    nodes.push_back({.node = fmt::format("n{}", i),
                     .ranks = {facts, facts},
                     .ahead_least_s = -0.3,
                     .ahead_most_s = 0.1});
  }
  return nodes;
}

TEST(MachineFacts, OfMachinesThatAreAlikeNothingIsSaid) {
  EXPECT_THAT(differences(alike(4)), IsEmpty());
  EXPECT_THAT(differences(alike(1)), IsEmpty());
  EXPECT_THAT(differences({}), IsEmpty());
}

TEST(MachineFacts, WhatTheFewestHaveComesFirst) {
  auto nodes = alike(4);
  nodes[0].ranks[0]["NCCL"] = nodes[0].ranks[1]["NCCL"] = "2.19.3";
  nodes[1].ranks[0].erase("OMP_NUM_THREADS");
  nodes[1].ranks[1].erase("OMP_NUM_THREADS");
  nodes[2].ranks[1]["OMP_NUM_THREADS"] = "1";
  nodes[2].ranks[0]["LD_PRELOAD"] = nodes[3].ranks[0]["LD_PRELOAD"] = "x.so";
  EXPECT_THAT(
      differences(nodes),
      ElementsAre("NCCL: 2.19.3 on n1, 2.21.5 on n[2-4]",
                  "OMP_NUM_THREADS: 1 and 4 on n3, not set on n2, 4 on n[1,4]",
                  "LD_PRELOAD: not set on n[1-2], x.so on n[3-4]"));
}

TEST(MachineFacts, AClockThatIsCertainlyWrong) {
  auto nodes = alike(3);
  nodes[1].ahead_least_s = 119.8;
  nodes[1].ahead_most_s = 120.2;
  EXPECT_THAT(
      differences(nodes),
      ElementsAre("clock: n2 is ahead of the others by at least 120 s"));
  // This machine's clock is the wrong one.
  nodes[0] = nodes[2] = nodes[1];
  EXPECT_THAT(differences(nodes), IsEmpty());
  // A node that took long to answer may be right.
  nodes = alike(3);
  nodes[1].ahead_least_s = -20;
  EXPECT_THAT(differences(nodes), IsEmpty());
}

TEST(MachineFacts, ConnectionsTravel) {
  Connections all{.network = 7};
  TcpSocket socket{.local = SocketAddress::v4({10, 0, 0, 1}, 4000),
                   .remote = SocketAddress::v4({10, 0, 0, 2}, 5000),
                   .state = TcpState::Established,
                   .unread = 3,
                   .unacknowledged = 48,
                   .retransmits = 5};
  socket.progress = {.last_received = std::chrono::milliseconds(900),
                     .last_answered = std::chrono::milliseconds(1200)};
  all.connections.push_back({9, socket});
  auto sent = travel(all);
  const auto there = back(sent, "n1");
  ASSERT_TRUE(there);
  ASSERT_EQ(there->connections.size(), 1U);
  const TcpSocket& one = there->connections[0].socket;
  EXPECT_EQ(one.local, socket.local);
  EXPECT_EQ(one.remote, socket.remote);
  EXPECT_EQ(one.retransmits, 5U);
  EXPECT_EQ(one.progress->last_answered, std::chrono::milliseconds(1200));
  EXPECT_NE(there->network, back(sent, "n2")->network);
  sent.sockets[0].local = "zz";
  EXPECT_FALSE(back(sent, "n1"));
}

}  // namespace
}  // namespace hangdbg
