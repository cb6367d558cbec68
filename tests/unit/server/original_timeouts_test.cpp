#include "server/rank_breakpoints/original_timeouts.h"

#include <gtest/gtest.h>

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

dap::ProcessGroups::Body said(std::vector<std::int64_t> sequences,
                              std::int64_t timeout_ms = 20000) {
  dap::ProcessGroups::Body body;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    dap::ProcessGroups::Group group;
    group.name = std::to_string(i);
    group.backend = "ProcessGroupGloo";
    group.ranks = {0, 1, 2};
    group.timeout_ms = timeout_ms;
    group.raised_to_ms = timeout_ms + 60000;
    group.sequence = sequences[i];
    body.groups.push_back(group);
  }
  return body;
}

TEST(CollectivesWithOriginalTimeout, AreOverWhenAllHaveComeToThem) {
  CollectivesWithOriginalTimeout old;
  old.begin(0, said({17}));
  old.begin(1, said({16}, 15000));
  old.begin(2, said({17}));
  ASSERT_EQ(old.pending().size(), 1);
  EXPECT_EQ(old.pending()[0].group, "group 0");
  EXPECT_EQ(old.pending()[0].number, 17);
  EXPECT_EQ(old.pending()[0].inside.text(), "0,2");
  EXPECT_EQ(old.pending()[0].awaited.text(), "1");
  EXPECT_EQ(old.pending()[0].timeout, milliseconds(15000));
  old.look(1, said({17}));
  EXPECT_TRUE(old.pending().empty());
  // The next one has begun with the new timeout.
  old.look(0, said({18}));
  EXPECT_TRUE(old.pending().empty());
}

TEST(CollectivesWithOriginalTimeout, NothingIsPendingWhereAllAreAsFar) {
  CollectivesWithOriginalTimeout old;
  EXPECT_TRUE(old.pending().empty());
  old.begin(0, said({5, 0}));
  old.begin(1, said({5, 0}));
  EXPECT_TRUE(old.pending().empty());
}

TEST(CollectivesWithOriginalTimeout, EachGroupCountsForItself) {
  CollectivesWithOriginalTimeout old;
  old.begin(0, said({5, 9}));
  old.begin(1, said({7, 8}));
  EXPECT_EQ(old.pending().size(), 2);
  old.look(0, said({7, 9}));
  ASSERT_EQ(old.pending().size(), 1);
  EXPECT_EQ(old.pending()[0].group, "group 1");
  // Destroyed on the one that was awaited.
  old.look(1, said({7}));
  EXPECT_TRUE(old.pending().empty());
}

TEST(CollectivesWithOriginalTimeout, OfTheSameNameWithOtherMembersAreOthers) {
  CollectivesWithOriginalTimeout old;
  auto other = said({3});
  other.groups[0].ranks = {1, 2};
  old.begin(0, said({9}));
  old.begin(1, other);
  EXPECT_TRUE(old.pending().empty());
}

TEST(CollectivesWithOriginalTimeout, WhoCountsDifferentlyIsNotCompared) {
  CollectivesWithOriginalTimeout old;
  old.begin(0, said({5000, 9}));
  old.begin(1, said({10, 9}));
  EXPECT_TRUE(old.pending().empty());
  EXPECT_EQ(old.apart(), "0");
}

TEST(CollectivesWithOriginalTimeout, WhoIsInACallIsWaitedFor) {
  CollectivesWithOriginalTimeout old;
  auto inside = said({5});
  inside.inside = {{7, "recv"}};
  old.begin(0, inside);
  old.begin(1, said({5}));
  EXPECT_EQ(old.apart(), "");
  ASSERT_EQ(old.pending().size(), 1);
  EXPECT_EQ(old.pending()[0].group, "recv");
  EXPECT_EQ(old.pending()[0].inside.text(), "0");
  EXPECT_TRUE(old.pending()[0].awaited.empty());
  old.look(0, inside);
  EXPECT_EQ(old.pending().size(), 1);
  // In the next one, which began with the new timeout.
  auto next = said({6});
  next.inside = inside.inside;
  old.look(0, next);
  EXPECT_TRUE(old.pending().empty());
  CollectivesWithOriginalTimeout left;
  left.begin(0, inside);
  left.look(0, said({5}));
  EXPECT_TRUE(left.pending().empty());
}

TEST(CollectivesWithOriginalTimeout, WhatCannotBeRaisedIsSaid) {
  auto groups = said({1, 2});
  EXPECT_EQ(unraised(groups), "");
  groups.groups[1].raised_to_ms.reset();
  groups.groups[1].problem = "AttributeError: options";
  EXPECT_EQ(unraised(groups),
            "the timeout of group 1 (ProcessGroupGloo) cannot be changed: "
            "AttributeError: options");
}

TEST(CollectivesWithOriginalTimeout, GloosSendAndReceiveKeepTheirTimeout) {
  auto groups = said({1});
  groups.inside = {{7, "all_reduce"}};
  EXPECT_EQ(with_fixed_timeout(groups), "");
  groups.inside.push_back({8, "recv"});
  EXPECT_EQ(with_fixed_timeout(groups), "recv");
  groups.groups[0].backend = "ProcessGroupNCCL";
  EXPECT_EQ(with_fixed_timeout(groups), "");
}

}  // namespace
}  // namespace hangdbg
