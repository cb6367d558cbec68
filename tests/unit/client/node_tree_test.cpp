// The tree that a node sends is worth as much as the dumps that it is made of,
// and a hostile one costs no memory.
#include "client/views/dump/node_tree.h"

#include <gtest/gtest.h>

#include <numeric>

#include "client/views/dump/gathered.h"
#include "client/views/dump/tree.h"

namespace hangdbg {
namespace {

reports::DumpedProcess rank_of_four(int rank, const char* innermost) {
  const auto frames = [](std::vector<std::string> names) {
    std::vector<reports::DumpedFrame> all;
    for (const std::string& name : names) {
      all.push_back({.qualname = name, .file = "a.py", .line = 3});
    }
    return all;
  };
  reports::DumpedThread native{.tid = 7, .frames = frames({"poll", "run"})};
  native.frames[0].module = "libc.so.6";
  return {.pid = 100 + rank,
          .rank = rank,
          .world_size = 4,
          .job = "run7",
          .threads = {{.tid = 100 + rank,
                       .state = rank == 2 ? "stopped" : "asleep in futex",
                       .waiting_s = 60,
                       .frames = frames({innermost, "step", "main"})},
                      native,
                      native,
                      {.tid = 8, .state = "running"}}};
}

std::string merged(GatheredDumps& gathered) {
  const auto all = gathered.merge({});
  EXPECT_TRUE(all);
  return tree_json(all->tree, all->labels, all->missing).dump(1);
}

TEST(NodeTree, IsMergedAsItsDumpsAre) {
  const std::vector<reports::DumpedProcess> dumps = {
      rank_of_four(0, "wait"),
      rank_of_four(1, "wait"),
      rank_of_four(2, "load"),
      {.pid = 9, .rank = 3, .error = reports::ReportedError{.message = "no"}}};
  GatheredDumps by_dumps("these"), by_tree("these");
  by_dumps.add(dumps, "n1");
  const auto tree = decode<reports::NodeTree>(encode(tree_of(dumps)));
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->parents.size(), 6U);  // each way once
  ASSERT_TRUE(by_tree.add(*tree, "n1"));
  EXPECT_EQ(merged(by_tree), merged(by_dumps));
}

reports::NodeTree tree_with(std::vector<std::int64_t> parents,
                            std::vector<std::int64_t> place_of,
                            std::vector<std::int64_t> ends) {
  return {.places = {{"f", "a.py", 1}},
          .parents = std::move(parents),
          .place_of = std::move(place_of),
          .processes = {{.pid = 1, .ends = std::move(ends)}}};
}

TEST(NodeTree, WhatIsNoTreeIsRefused) {
  const reports::NodeTree bad[] = {
      tree_with({0}, {0}, {}),         // its own parent
      tree_with({1, -1}, {0, 0}, {}),  // a later one
      tree_with({-2}, {0}, {}),       tree_with({-1}, {1}, {}),
      tree_with({-1}, {-1}, {}),      tree_with({-1}, {}, {}),
      tree_with({-1}, {0}, {1}),      tree_with({-1}, {0}, {-1})};
  for (const reports::NodeTree& tree : bad) {
    GatheredDumps gathered("these");
    EXPECT_FALSE(gathered.add(tree, "n1"));
    EXPECT_TRUE(gathered.empty());
  }
  GatheredDumps gathered("these");
  EXPECT_TRUE(gathered.add(tree_with({-1}, {0}, {0}), "n1"));
}

// A few bytes that would be read as billions of frames.
TEST(NodeTree, WaysThatAreTooLongTogetherAreRefused) {
  constexpr std::size_t kLong = 20'000;
  std::vector<std::int64_t> parents(kLong);
  std::iota(parents.begin(), parents.end(), -1);
  GatheredDumps gathered("these");
  const Status added =
      gathered.add(tree_with(parents, std::vector<std::int64_t>(kLong, 0),
                             std::vector<std::int64_t>(kLong, kLong - 1)),
                   "n1");
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().message, "its stacks are too long");
}

}  // namespace
}  // namespace hangdbg
