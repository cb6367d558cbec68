// Many stacks as one tree: the place of each rank, and the outliers.
#include "inspector/jobs/stack_tree.h"

#include <gtest/gtest.h>

namespace hangdbg {
namespace {

using Place = StackMerger::Place;

struct Merging {
  StackMerger merger;

  // Functions, outermost first: "main:1", "train:12".
  int add(int member,
          const std::vector<std::string>& frames,
          bool moves = false) {
    std::vector<Place> way;
    for (const std::string& frame : frames) {
      const auto colon = frame.find(':');
      way.push_back(merger.place({frame.substr(0, colon), "a.py",
                                  std::stoi(frame.substr(colon + 1))}));
    }
    const int node = merger.add(member, way);
    merger.add_main(member, node, "asleep", moves);
    return node;
  }
};

TEST(StackTreeTest, OneBranchWhereAllAgree) {
  Merging all;
  for (int rank = 0; rank < 1000; ++rank) {
    all.add(rank, {"main:1", "train:2", "wait:3"});
  }
  const StackTree tree = all.merger.finish();
  const StackNode* node = &tree.root;
  for (int level = 0; level < 3; ++level) {
    ASSERT_EQ(node->children.size(), 1);
    node = &node->children[0];
    EXPECT_EQ(node->members.text(), "0-999");
  }
  EXPECT_EQ(tree.classes.size(), 1);
  EXPECT_TRUE(tree.odd.empty());
}

TEST(StackTreeTest, TheOddOneAndWhereTheyPart) {
  Merging all;
  for (int rank = 0; rank < 8; ++rank) {
    all.add(rank,
            rank == 5
                ? std::vector<std::string>{"main:1", "train:9", "load:4"}
                : std::vector<std::string>{"main:1", "train:12", "reduce:7"});
  }
  const StackTree tree = all.merger.finish();
  ASSERT_EQ(tree.odd.size(), 1);
  EXPECT_EQ(tree.odd[0].here.members.text(), "5");
  EXPECT_EQ(tree.odd[0].fork, 1);
  EXPECT_EQ(tree.odd[0].here.way[1].line, 9);
  EXPECT_EQ(tree.classes[0].members.text(), "0-4,6,7");
}

// The same collective, called at another line: a mismatch.
TEST(StackTreeTest, AnotherWayToTheSamePlace) {
  Merging all;
  for (int rank = 0; rank < 4; ++rank) {
    all.add(rank, {"main:1", rank == 0 ? "train:5" : "train:6", "reduce:7"});
  }
  const StackTree tree = all.merger.finish();
  ASSERT_EQ(tree.odd.size(), 1);
  EXPECT_EQ(tree.odd[0].here.members.text(), "0");
}

// Threads in a loop are sampled at this line or at that.
TEST(StackTreeTest, LinesOfALoopAreOnePlace) {
  Merging all;
  for (int rank = 0; rank < 4; ++rank) {
    all.add(rank, {"main:1", rank % 2 == 0 ? "wait:5" : "wait:6"}, true);
  }
  EXPECT_EQ(all.merger.finish().classes.size(), 1);
  Merging asleep;
  for (int rank = 0; rank < 4; ++rank) {
    asleep.add(rank, {"main:1", rank == 2 ? "wait:5" : "wait:6"});
  }
  EXPECT_EQ(asleep.merger.finish().odd.size(), 1);
}

TEST(StackTreeTest, NobodyIsOddWithoutAMajority) {
  Merging all;
  for (int rank = 0; rank < 4; ++rank) {
    all.add(rank, {"main:1", rank < 2 ? "one:5" : "other:6"});
  }
  const StackTree tree = all.merger.finish();
  EXPECT_EQ(tree.classes.size(), 2);
  EXPECT_TRUE(tree.odd.empty());
}

// It does not show where its rank is, but its rank may wait for it.
TEST(StackTreeTest, AStoppedChild) {
  StackMerger merger;
  const std::vector<Place> rank = {merger.place({"train", "a.py", 1})};
  const std::vector<Place> child = {merger.place({"load", "a.py", 2})};
  merger.add_thread({.member = 3, .pid = 30, .main = true, .state = "asleep"},
                    rank);
  merger.add_thread({.member = 3,
                     .pid = 31,
                     .child = true,
                     .main = true,
                     .state = "stopped (SIGSTOP or Ctrl-Z)"},
                    child);
  merger.add_thread({.member = 3, .pid = 31, .child = true, .state = "stopped"},
                    child);
  const StackTree tree = merger.finish();
  ASSERT_EQ(tree.classes.size(), 1);
  EXPECT_EQ(tree.classes[0].way[0].function, "train");
  ASSERT_EQ(tree.stopped.size(), 1);
  EXPECT_EQ(tree.stopped[0].pid, 31);
  EXPECT_TRUE(tree.stopped[0].child);
}

TEST(StackTreeTest, OfNothing) {
  const StackTree tree = StackMerger().finish();
  EXPECT_TRUE(tree.root.members.empty());
  EXPECT_TRUE(tree.classes.empty());
}

}  // namespace
}  // namespace hangdbg
