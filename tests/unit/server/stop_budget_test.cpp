#include "server/rank_breakpoints/stop_budget.h"

#include <gtest/gtest.h>

namespace hangdbg {
namespace {

using std::chrono::milliseconds;
using Ask = StopBudget::Ask;

constexpr auto kLong = milliseconds(60000);

dap::ProcessGroups::Body begun(std::int64_t sequence) {
  dap::ProcessGroups::Body body;
  dap::ProcessGroups::Group group;
  group.name = "0";
  group.backend = "ProcessGroupGloo";
  group.sequence = sequence;
  body.groups.push_back(group);
  return body;
}

TEST(StopBudget, WhoIsWatchedIsToldAllOfTheTime) {
  StopBudget stop_budget(kLong);
  const auto told = stop_budget.watch(7);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->pid, 7);
  EXPECT_EQ(told->left, kLong);
  EXPECT_FALSE(stop_budget.watch(7));
  stop_budget.forget(7);
  EXPECT_TRUE(stop_budget.watch(7));
}

TEST(StopBudget, TheSecondHasTheRestOfTheFirstsTime) {
  StopBudget stop_budget(milliseconds(1000));
  EXPECT_FALSE(stop_budget.end());
  const auto first = stop_budget.follow({7});
  ASSERT_EQ(first.size(), 1);
  EXPECT_EQ(first[0].pid, 7);
  ASSERT_TRUE(stop_budget.end());
  const auto end = stop_budget.end()->at();
  EXPECT_TRUE(stop_budget.follow({7}).empty());
  const auto second = stop_budget.follow({7, 9});
  ASSERT_EQ(second.size(), 1);
  EXPECT_EQ(second[0].pid, 9);
  EXPECT_LE(second[0].left, milliseconds(1000));
  EXPECT_EQ(stop_budget.end()->at(), end);
  EXPECT_EQ(stop_budget.wants(), Ask::Nothing);
}

TEST(StopBudget, GoesOnUntilNobodyIsLeftWhereTheyWaited) {
  StopBudget stop_budget(kLong);
  stop_budget.watch(7);
  stop_budget.watch(9);
  EXPECT_EQ(stop_budget.wants(), Ask::Nothing);
  stop_budget.follow({7});
  stop_budget.follow({});
  ASSERT_EQ(stop_budget.wants(), Ask::Begin);
  stop_budget.left().begin(0, begun(4));
  stop_budget.left().begin(1, begun(5));
  EXPECT_TRUE(stop_budget.asked().empty());
  EXPECT_TRUE(stop_budget.end());
  EXPECT_EQ(stop_budget.wants(), Ask::Nothing) << "not so soon again";
  // It stops again before that: it gets the remaining time, and is told that.
  const auto end = stop_budget.end()->at();
  const auto again = stop_budget.follow({7});
  ASSERT_EQ(again.size(), 1);
  EXPECT_LE(again[0].left, kLong);
  EXPECT_EQ(stop_budget.end()->at(), end);
  // Earlier requests do not count.
  stop_budget.follow({});
  ASSERT_EQ(stop_budget.wants(), Ask::Begin);
  stop_budget.left().begin(0, begun(5));
  stop_budget.left().begin(1, begun(5));
  const auto limits = stop_budget.asked();
  EXPECT_FALSE(stop_budget.end());
  ASSERT_EQ(limits.size(), 2) << "all have all of the time again";
  EXPECT_EQ(limits[0].left, kLong);
  EXPECT_EQ(stop_budget.follow({7}).size(), 1);
}

TEST(StopBudget, IsShortenedOnly) {
  StopBudget stop_budget(kLong);
  EXPECT_FALSE(stop_budget.shorten(milliseconds(10))) << "none stands";
  stop_budget.follow({7});
  EXPECT_TRUE(stop_budget.shorten(milliseconds(1000)));
  EXPECT_FALSE(stop_budget.shorten(milliseconds(2000)));
  const auto told = stop_budget.follow({7});
  ASSERT_EQ(told.size(), 1) << "it is to hear of that";
  EXPECT_LE(told[0].left, milliseconds(1000));
}

}  // namespace
}  // namespace hangdbg
