// Which ranks of a job wait for which, from their calls and the numbers of
// their groups.
#include "diagnosis/waits/rendezvous.h"

#include <gtest/gtest.h>

#include <deque>

namespace hangdbg {
namespace {

struct Job {
  std::deque<ProcessGroups> groups;
  std::vector<RankAtMeeting> ranks;
  RankSet gone;

  // In no call if `function` is empty.
  void add(int rank,
           const char* function,
           std::uint64_t begun,
           const char* group = "0",
           std::optional<std::int64_t> peer = {}) {
    const auto backend = [](std::uint64_t number) {
      return GroupBackend{
          .type = "ProcessGroupGloo", .begun = number, .collectives = number};
    };
    const std::string name = group;
    groups.push_back(
        {.imported = true,
         .groups = {{.name = "0",
                     .is_default = true,
                     .ranks = {0, 1, 2, 3},
                     .backends = {backend(name == "0" ? begun : 5)}},
                    {.name = "1",
                     .ranks = {0, 1},
                     .backends = {backend(name == "1" ? begun : 2)}}}});
    RankAtMeeting seen{.rank = rank, .groups = &groups.back()};
    if (*function != 0) {
      seen.call =
          CollectiveCall{.function = function, .group = group, .peer = peer};
    }
    ranks.push_back(seen);
  }
  Meeting meeting() const { return meet(ranks, gone); }
};

TEST(Meeting, OneHasNotCome) {
  Job job;
  for (const int rank : {0, 1, 3}) {
    job.add(rank, "all_reduce", 43);
  }
  job.add(2, "", 42);
  const Meeting meeting = job.meeting();
  EXPECT_EQ(meeting.odd().text(), "2");
  EXPECT_EQ(meeting.waits_for.at(0).text(), "2");
  EXPECT_TRUE(meeting.mismatched.empty());
}

TEST(Meeting, WhoHasBeenThereIsNotWaitedFor) {
  Job job;
  job.add(0, "broadcast", 7);
  job.add(1, "broadcast", 7);
  job.add(2, "", 6);
  job.add(3, "", 7);  // the root, which has left
  EXPECT_EQ(job.meeting().odd().text(), "2");
}

TEST(Meeting, OneHasEnded) {
  Job job;
  job.gone.add(1);
  for (const int rank : {0, 2, 3}) {
    job.add(rank, "all_reduce", 1);
  }
  EXPECT_EQ(job.meeting().odd().text(), "1");
}

TEST(Meeting, OneIsInAnotherCollective) {
  Job job;
  for (const int rank : {0, 1, 3}) {
    job.add(rank, "all_reduce", 3);
  }
  job.add(2, "all_gather", 3);
  const Meeting meeting = job.meeting();
  EXPECT_EQ(meeting.mismatched.text(), "2");
  EXPECT_EQ(meeting.most.text(), "0,1,3");
  EXPECT_EQ(meeting.what, "all_gather");
  EXPECT_EQ(meeting.where, "as collective 3 of group 0");
  EXPECT_TRUE(meeting.by_number);
  EXPECT_TRUE(meeting.odd().empty());
}

TEST(Meeting, OneHasBegunMore) {
  Job job;
  for (const int rank : {0, 1, 2}) {
    job.add(rank, "all_reduce", 3);
  }
  job.add(3, "all_reduce", 4);
  const Meeting meeting = job.meeting();
  EXPECT_EQ(meeting.mismatched.text(), "3");
  EXPECT_EQ(meeting.what, "all_reduce, its collective 4");
  EXPECT_TRUE(meeting.odd().empty());
}

TEST(Meeting, WhatWasBegunByNameIsTheSame) {
  Job job;
  for (const int rank : {0, 1, 2}) {
    job.add(rank, "all_reduce", 3);
  }
  job.add(3, "ALLREDUCE", 3);
  EXPECT_TRUE(job.meeting().mismatched.empty());
  EXPECT_TRUE(job.meeting().waits_for.at(3).empty());
}

TEST(Meeting, TwoGroupsInAnotherOrder) {
  Job job;
  job.add(0, "all_reduce", 6, "0");
  job.add(1, "all_reduce", 3, "1");
  job.add(2, "all_reduce", 6, "0");
  job.add(3, "all_reduce", 6, "0");
  const Meeting meeting = job.meeting();
  EXPECT_TRUE(meeting.odd().empty());
  const auto circle = meeting.cycle();
  EXPECT_EQ(RankSet::Range({circle.front(), circle.back()}),
            RankSet::Range({0, 1}));
}

TEST(Meeting, BetweenTwo) {
  Job job;
  job.add(0, "recv", 5, "0", 3);
  job.add(1, "recv", 5, "0", 2);
  job.add(2, "send", 5, "0", 1);
  job.add(3, "", 5);
  const Meeting meeting = job.meeting();
  EXPECT_EQ(meeting.waits_for.at(0).text(), "3");
  EXPECT_TRUE(meeting.waits_for.at(1).empty());
  EXPECT_TRUE(meeting.waits_for.at(2).empty());
  EXPECT_EQ(meeting.odd().text(), "3");
}

TEST(Meeting, BothReceive) {
  Job job;
  job.add(0, "recv", 5, "0", 1);
  job.add(1, "recv", 5, "0", 0);
  EXPECT_EQ(job.meeting().cycle().size(), 2U);
}

}  // namespace
}  // namespace hangdbg
