#include "server/rank_breakpoints/standstill.h"

#include <gtest/gtest.h>

namespace hangdbg {
namespace {

using std::chrono::milliseconds;
using Ask = Standstill::Ask;

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

TEST(Standstill, WhoIsWatchedIsToldAllOfTheTime) {
  Standstill standstill(kLong);
  const auto told = standstill.watch(7);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->pid, 7);
  EXPECT_EQ(told->left, kLong);
  EXPECT_FALSE(standstill.watch(7));
  standstill.forget(7);
  EXPECT_TRUE(standstill.watch(7));
}

TEST(Standstill, TheSecondHasTheRestOfTheFirstsTime) {
  Standstill standstill(milliseconds(1000));
  EXPECT_FALSE(standstill.end());
  const auto first = standstill.follow({7});
  ASSERT_EQ(first.size(), 1);
  EXPECT_EQ(first[0].pid, 7);
  ASSERT_TRUE(standstill.end());
  const auto end = standstill.end()->at();
  EXPECT_TRUE(standstill.follow({7}).empty());
  const auto second = standstill.follow({7, 9});
  ASSERT_EQ(second.size(), 1);
  EXPECT_EQ(second[0].pid, 9);
  EXPECT_LE(second[0].left, milliseconds(1000));
  EXPECT_EQ(standstill.end()->at(), end);
  EXPECT_EQ(standstill.wants(), Ask::Nothing);
}

TEST(Standstill, GoesOnUntilNobodyIsLeftWhereTheyWaited) {
  Standstill standstill(kLong);
  standstill.watch(7);
  standstill.watch(9);
  EXPECT_EQ(standstill.wants(), Ask::Nothing);
  standstill.follow({7});
  standstill.follow({});
  ASSERT_EQ(standstill.wants(), Ask::Begin);
  standstill.left().begin(0, begun(4));
  standstill.left().begin(1, begun(5));
  EXPECT_TRUE(standstill.asked().empty());
  EXPECT_TRUE(standstill.end());
  EXPECT_EQ(standstill.wants(), Ask::Nothing) << "not so soon again";
  // It stops anew before it has come there: it has the rest, and is told so.
  const auto end = standstill.end()->at();
  const auto again = standstill.follow({7});
  ASSERT_EQ(again.size(), 1);
  EXPECT_LE(again[0].left, kLong);
  EXPECT_EQ(standstill.end()->at(), end);
  // What was asked before that does not count.
  standstill.follow({});
  ASSERT_EQ(standstill.wants(), Ask::Begin);
  standstill.left().begin(0, begun(5));
  standstill.left().begin(1, begun(5));
  const auto limits = standstill.asked();
  EXPECT_FALSE(standstill.end());
  ASSERT_EQ(limits.size(), 2) << "all have all of the time again";
  EXPECT_EQ(limits[0].left, kLong);
  EXPECT_EQ(standstill.follow({7}).size(), 1);
}

TEST(Standstill, IsShortenedOnly) {
  Standstill standstill(kLong);
  EXPECT_FALSE(standstill.shorten(milliseconds(10))) << "none stands";
  standstill.follow({7});
  EXPECT_TRUE(standstill.shorten(milliseconds(1000)));
  EXPECT_FALSE(standstill.shorten(milliseconds(2000)));
  const auto told = standstill.follow({7});
  ASSERT_EQ(told.size(), 1) << "it is to hear of that";
  EXPECT_LE(told[0].left, milliseconds(1000));
}

}  // namespace
}  // namespace hangdbg
