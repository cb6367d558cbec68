#include "server/rank_breakpoints/timeout_override.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hangdbg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

dap::ProcessGroups::Body said(std::optional<std::int64_t> raised_to = 140000,
                              std::int64_t sequence = 3) {
  dap::ProcessGroups::Body body;
  dap::ProcessGroups::Group group;
  group.name = "0";
  group.backend = "ProcessGroupGloo";
  group.timeout_ms = 20000;
  group.raised_to_ms = raised_to;
  group.sequence = sequence;
  body.groups.push_back(group);
  return body;
}

TEST(TimeoutOverride, WhereAllAreRaisedThereIsAllOfTheTime) {
  TimeoutOverride raised(seconds(60));
  EXPECT_EQ(raised.by(), seconds(120));
  raised.take(0, said());
  raised.take(1, said());
  EXPECT_EQ(raised.longest(), seconds(60));
  EXPECT_THAT(raised.text(),
              ElementsAre("timeouts of 1 process group raised on rank 0,1 by "
                          "120 s, until we leave"));
}

TEST(TimeoutOverride, MachinesHoldTheirRanksOneAfterTheOther) {
  TimeoutOverride raised(seconds(60), 3);
  EXPECT_EQ(raised.by(), seconds(240));
  raised.take(0, said());
  EXPECT_EQ(raised.longest(), seconds(60));
  raised.leave_out(1, "it has ended");
  EXPECT_EQ(raised.longest(), seconds(20) / 4);
}

TEST(TimeoutOverride, WhereOneStaysThereIsHalfOfIt) {
  TimeoutOverride raised(seconds(60));
  raised.take(0, said());
  raised.take(1, fail(ErrorId::NotPermitted, "traced by 17"));
  EXPECT_EQ(raised.longest(), seconds(10));
  EXPECT_THAT(raised.text(),
              ElementsAre("timeouts of 1 process group raised on rank 0 by "
                          "120 s, until we leave",
                          "rank 1: traced by 17",
                          "its timeout of 20 s stays: threads are held for "
                          "10 s at most"));
}

TEST(TimeoutOverride, RanksOfOtherMachinesStay) {
  Job job;
  job.elsewhere.add(2);
  TimeoutOverride raised(seconds(60));
  raised.leave_out(job);
  raised.take(0, said());
  EXPECT_EQ(raised.longest(), seconds(10));
  EXPECT_EQ(raised.text()[1], "rank 2: not on this machine");
}

TEST(TimeoutOverride, GroupsThatCannotBeRaisedAreNamed) {
  TimeoutOverride raised(seconds(60));
  raised.take(0, said(std::nullopt));
  EXPECT_EQ(raised.longest(), seconds(10));
  EXPECT_THAT(raised.text()[1],
              testing::HasSubstr("the timeout of group 0 (ProcessGroupGloo)"));
}

TEST(TimeoutOverride, WithoutGroupsNothingIsSaid) {
  TimeoutOverride raised(seconds(60));
  raised.take(0, dap::ProcessGroups::Body());
  EXPECT_EQ(raised.longest(), seconds(60));
  EXPECT_THAT(raised.text(), IsEmpty());
  // A rank may make more later.
  const auto found = raised.shorter(0, said());
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].time, seconds(10));
  EXPECT_EQ(found[0].why,
            "rank 0 has made process groups since, with a timeout of 20 s");
}

TEST(TimeoutOverride, WhatCannotBeRaisedShortensTheTime) {
  TimeoutOverride raised(seconds(60));
  raised.take(0, said());
  auto groups = said();
  EXPECT_THAT(raised.shorter(0, groups), IsEmpty());
  groups.inside = {{.thread_id = 1, .function = "recv"}};
  const auto found = raised.shorter(0, groups);
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].time, seconds(10));
  EXPECT_EQ(found[0].why, "rank 0 is in recv, whose timeout of 20 s stays");
}

TEST(TimeoutOverride, AnOldCollectiveIsDescribed) {
  TimeoutOverride raised(seconds(60));
  raised.take(0, said(140000, 3));
  raised.take(1, said(140000, 2));
  raised.look_again(0, said(140000, 4));
  ASSERT_EQ(raised.old().pending().size(), 1);
  EXPECT_EQ(describe(raised.old().pending()[0], {}),
            "rank 0 waits in collective 4 of group 0 for rank 1; it began with "
            "the timeout of 20 s: breakpoints are set when it is over");
}

}  // namespace
}  // namespace hangdbg
