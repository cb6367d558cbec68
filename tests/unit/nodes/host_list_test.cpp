#include "nodes/hosts/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace hangdbg {
namespace {

using testing::ElementsAre;

TEST(HostList, Unfolds) {
  EXPECT_THAT(*parse_hosts("a,n[08-10,3]x,u@b.c"),
              ElementsAre("a", "n08x", "n09x", "n10x", "n3x", "u@b.c"));
  EXPECT_THAT(*parse_hosts("r[1-2]n[1-2]"),
              ElementsAre("r1n1", "r1n2", "r2n1", "r2n2"));
  EXPECT_THAT(*parse_hosts("n1,n1"), ElementsAre("n1")) << "each once";
}

TEST(HostList, Folds) {
  EXPECT_EQ(fold_hosts(*parse_hosts("node[001-128,130],login")),
            "node[001-128,130],login");
  EXPECT_EQ(fold_hosts({"n8", "n9", "n10", "n11"}), "n[8-11]");
  EXPECT_EQ(fold_hosts({"n08", "n09", "n10"}), "n[08-10]");
  EXPECT_EQ(fold_hosts({"n3"}), "n3");
  EXPECT_EQ(fold_hosts({"b", "a"}), "b,a");
  EXPECT_EQ(fold_hosts({}), "");
}

TEST(HostList, WhatIsNoHostIsRefused) {
  for (const char* const bad :
       {"", ",", "n[1-", "n[a]", "n[2-1]", "-oProxyCommand=x", "a b", "a;b",
        "$(x)", "n[0-4000000000]", "n[1-1000][1-1000]", "^/no/such/file"}) {
    const auto hosts = parse_hosts(bad);
    ASSERT_FALSE(hosts) << bad;
    EXPECT_EQ(hosts.error().id, ErrorId::Usage) << bad;
  }
}

TEST(HostList, ReadsAHostfile) {
  const std::string path = testing::TempDir() + "/hosts";
  std::ofstream(path) << "# nodes\nn1 slots=8\nn2:4\n\nn[3-4]  # two\n";
  EXPECT_THAT(*parse_hosts("^" + path), ElementsAre("n1", "n2", "n3", "n4"));
}

}  // namespace
}  // namespace hangdbg
