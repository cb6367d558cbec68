// A node's archive becomes a folder, and writes nowhere else.
#include <gtest/gtest.h>

#include "client/report/from_nodes.h"

namespace hangdbg {
namespace {

TEST(ReportFromNodes, AFolderANode) {
  const auto archive = pack({{"hangdbg-report-5-2026/dump.txt", "x"}}, 0);
  const auto files = files_of_node(*archive, "all/n1");
  ASSERT_TRUE(files);
  EXPECT_EQ(files->at(0).name, "all/n1/dump.txt");
  EXPECT_EQ(files->at(0).text, "x");
}

TEST(ReportFromNodes, NamesThatLeadElsewhereAreRefused) {
  for (const char* const name :
       {"a/../../etc/passwd", "a//etc/passwd", "a/.ssh/x", "a/x/../y", "a/",
        "a/b\nc", "a/\x1b[2J"}) {
    EXPECT_FALSE(files_of_node(*pack({{name, "x"}}, 0), "all/n1")) << name;
  }
  EXPECT_FALSE(files_of_node("no archive", "all/n1"));
  EXPECT_FALSE(files_of_node(*pack({{"a/" + std::string(90, 'b'), "x"}}, 0),
                             "all/a-node-with-a-name"));
}

}  // namespace
}  // namespace hangdbg
