// What a probe of the network concludes, from made-up nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/probe/choices.h"
#include "client/probe/findings.h"
#include "client/probe/names.h"
#include "client/probe/seen_pairs.h"

namespace hangdbg {
namespace {

using reports::NetProbe;
using reports::ProbedInterface;
using reports::ProbedNode;
using testing::ElementsAre;
using testing::IsEmpty;

const ProbedInterface kLoopback{.name = "lo",
                                .state = "up",
                                .mtu = 65536,
                                .addresses = {"127.0.0.1"}};

ProbedInterface ethernet(const std::string& name, const std::string& address) {
  return {.name = name, .state = "up", .mtu = 1500, .addresses = {address}};
}

// n1 10.0.0.1, n2 10.0.0.2, ..., which all reach each other.
NetProbe healthy(int count) {
  NetProbe probe;
  for (int i = 1; i <= count; ++i) {
    const std::string name = fmt::format("n{}", i);
    probe.nodes.push_back(
        {.node = name,
         .host = name,
         .interfaces = {kLoopback,
                        ethernet("eth0", fmt::format("10.0.0.{}", i))}});
    for (int other = 1; other <= count; ++other) {
      if (other != i) {
        probe.connections.push_back({.from = name,
                                     .to = fmt::format("n{}", other),
                                     .address = fmt::format("10.0.0.{}", other),
                                     .result = "whole",
                                     .connected_ms = 0.2});
      }
    }
  }
  return probe;
}

std::vector<std::string> texts(NetProbe probe) {
  find_faults(probe);
  std::vector<std::string> all;
  for (const auto& one : probe.findings) {
    all.push_back(one.text);
  }
  return all;
}

void set(NetProbe& probe,
         const std::string& from,
         const std::string& to,
         const std::string& result) {
  for (auto& one : probe.connections) {
    if ((from.empty() || one.from == from) && (to.empty() || one.to == to)) {
      one.result = result;
    }
  }
}

TEST(NetProbe, NothingIsSaidOfNodesThatAreWell) {
  EXPECT_THAT(texts(healthy(4)), IsEmpty());
}

TEST(NetProbe, PairsThatFailAlikeAreOneLine) {
  NetProbe probe = healthy(4);
  set(probe, "", "n3", "no-answer");
  set(probe, "n1", "n4", "refused");
  set(probe, "n2", "n4", "no-answer");
  EXPECT_THAT(texts(probe),
              ElementsAre("n[1-2,4] -> n3 (10.0.0.3, eth0): no answer",
                          "n1 -> n4 (10.0.0.4, eth0): refused",
                          "n2 -> n4 (10.0.0.4, eth0): no answer"));
}

TEST(NetProbe, OneAddressThatWorksIsEnough) {
  NetProbe probe = healthy(2);
  probe.nodes[1].interfaces.push_back(ethernet("eth1", "192.168.7.2"));
  probe.connections.push_back({.from = "n1",
                               .to = "n2",
                               .address = "192.168.7.2",
                               .result = "no-answer"});
  EXPECT_THAT(texts(probe), IsEmpty());
  // Unless it is the one that a rank's library has selected.
  probe.nodes[1].choices = {{.library = "NCCL",
                             .interface = "eth1",
                             .address = "192.168.7.2",
                             .reason = "NCCL_SOCKET_IFNAME=eth1",
                             .ranks = true}};
  EXPECT_THAT(
      texts(probe),
      ElementsAre("n2: NCCL uses eth1 (NCCL_SOCKET_IFNAME=eth1), where n1 does "
                  "not reach it; NCCL_SOCKET_IFNAME=eth0 is reached"));
  probe.nodes[1].choices[0].ranks = false;
  EXPECT_THAT(texts(probe), IsEmpty());
}

TEST(NetProbe, NamesMtusAndServices) {
  NetProbe probe = healthy(3);
  probe.nodes[0].names = {{.name = "n3", .addresses = {{"10.0.0.3"}}}};
  probe.nodes[1].names = {{.name = "n3", .addresses = {{"127.0.1.1"}}}};
  probe.nodes[2].names = {{.name = "n3", .addresses = {{"127.0.1.1"}}}};
  probe.nodes[0].interfaces[1].mtu = 9000;
  probe.connections.push_back({.from = "n2",
                               .to = "n3:29500",
                               .address = "127.0.1.1",
                               .result = "refused"});
  EXPECT_THAT(texts(probe),
              ElementsAre("n2 -> n3:29500 (127.0.1.1): refused",
                          "n3 is 127.0.1.1 on n2, and n3 has 10.0.0.3",
                          "the MTU of eth0 is 1500 on n[2-3], 9000 on n1"));
  // One that no node knows is no name of the network.
  NetProbe nameless = healthy(2);
  nameless.nodes[0].names = {{.name = "web-1", .addresses = {{}}}};
  nameless.nodes[0].names[0].addresses.emplace();
  EXPECT_THAT(texts(nameless), IsEmpty());
}

TEST(NetProbe, AddressesThatSeveralNodesHaveSayNothing) {
  NetProbe probe = healthy(2);
  for (ProbedNode& node : probe.nodes) {
    node.interfaces.push_back(ethernet("docker0", "172.17.0.1"));
  }
  const auto addresses = reachable_addresses(probe.nodes);
  EXPECT_THAT(addresses.at("n1"), ElementsAre("10.0.0.1"));
}

TEST(NetProbe, GlooTakesWhatTheHostsNameIs) {
  const std::vector<ProbedInterface> all = {kLoopback,
                                            ethernet("eth0", "10.0.0.1")};
  EXPECT_EQ(choice_of_gloo({}, {"10.0.0.1"}, all)->interface, "eth0");
  EXPECT_EQ(choice_of_gloo({}, {"127.0.1.1"}, all)->interface, "lo");
  EXPECT_EQ(choice_of_gloo({}, {}, all)->interface, "lo");
  EXPECT_EQ(choice_of_gloo({}, {"10.0.0.9"}, all)->interface, "lo");
  EXPECT_EQ(choice_of_gloo({.gloo = "eth0"}, {}, all)->address, "10.0.0.1");
  EXPECT_FALSE(choice_of_gloo({.gloo = "eth"}, {}, all));
}

TEST(NetProbe, NcclTakesBeginningsOfNames) {
  std::vector<ProbedInterface> all = {kLoopback,
                                      ethernet("docker0", "172.17.0.1"),
                                      ethernet("eth0", "10.0.0.1")};
  const auto chosen = [&](const std::string& variable) {
    const auto choice = choice_of_nccl({.nccl = variable}, all);
    return choice ? choice->interface : "";
  };
  EXPECT_EQ(chosen(""), "eth0");
  EXPECT_EQ(chosen("dock"), "docker0");
  EXPECT_EQ(chosen("=eth"), "");
  EXPECT_EQ(chosen("^docker,lo"), "eth0");
  EXPECT_EQ(chosen("^=eth0,lo"), "docker0");
  all[2].state = "no carrier";
  EXPECT_EQ(chosen(""), "docker0");
  all.push_back(ethernet("ib0", "10.1.0.1"));
  EXPECT_EQ(chosen(""), "ib0");
}

TEST(NetProbe, ReadsGetentAndServices) {
  EXPECT_THAT(parse_getent("10.0.0.1  STREAM n1\n10.0.0.1  DGRAM  \n"
                           "::ffff:10.0.0.2 STREAM\nfd00::1 STREAM\n"),
              ElementsAre("10.0.0.1", "10.0.0.2", "fd00::1"));
  EXPECT_EQ(parse_service("n1:29500")->port, 29500);
  EXPECT_EQ(parse_service("[fd00::1]:29500")->host, "fd00::1");
  for (const char* const wrong :
       {"n1", "n1:", ":1", "n1:0", "n1:65536", "-x:1"}) {
    EXPECT_FALSE(parse_service(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace hangdbg
