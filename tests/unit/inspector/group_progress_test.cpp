// Which rank of a group is behind, by the counts of all.
#include "inspector/jobs/torch/group_progress.h"

#include <gtest/gtest.h>

#include <deque>

namespace hangdbg {
namespace {

struct Job {
  std::deque<ProcessGroups> all;
  std::vector<GroupsOfRank> ranks;

  void add(int rank, const GroupBackend& backend) {
    all.push_back({.imported = true,
                   .groups = {{.name = "0",
                               .backend = "gloo",
                               .is_default = true,
                               .ranks = {0, 1, 2, 3},
                               .backends = {backend}}}});
    ranks.push_back({rank, &all.back()});
  }
  GroupProgress progress() const {
    const auto groups = group_progress(ranks);
    return groups.size() == 1 ? groups[0] : GroupProgress{};
  }
};

// As torch 2.13's gloo counts; `sent`: that many sends and receives, too.
GroupBackend counted(std::uint64_t begun,
                     std::uint64_t over,
                     const char* name = "ALLREDUCE",
                     std::uint64_t sent = 0) {
  const auto number = static_cast<std::int64_t>(begun + sent);
  return {
      .type = "ProcessGroupGloo",
      .begun = begun + sent,
      .collectives = begun,
      .has_status = true,
      .enqueued = NumberedCollective{number, name},
      .completed = NumberedCollective{static_cast<std::int64_t>(over), name}};
}

GroupBackend of_old_torch(std::uint64_t begun) {
  return {.type = "ProcessGroupGloo", .begun = begun};
}

TEST(GroupProgress, WhetherADeviceHasBegunIt) {
  Job job;
  GroupBackend backend = counted(43, 42);
  job.add(0, backend);
  backend.started = NumberedCollective{42, "ALLREDUCE"};
  job.add(1, backend);
  backend.started = NumberedCollective{43, "ALLREDUCE"};
  job.add(2, backend);
  const GroupProgress group = job.progress();
  ASSERT_EQ(group.steps.size(), 3U);
  for (const GroupStep& step : group.steps) {
    const std::string rank = step.ranks.text();
    EXPECT_EQ(step.started, rank == "0"   ? std::nullopt
                            : rank == "1" ? std::optional(false)
                                          : std::optional(true))
        << rank;
  }
}

TEST(GroupProgress, OneIsBehind) {
  Job job;
  for (const int rank : {0, 1, 3}) {
    job.add(rank, counted(43, 42));
  }
  job.add(2, counted(42, 42));
  const GroupProgress group = job.progress();
  EXPECT_EQ(group.behind().text(), "2");
  EXPECT_FALSE(group.apart);
  ASSERT_EQ(group.steps.size(), 2U);
  EXPECT_EQ(group.steps[0].ranks.text(), "0,1,3");
  EXPECT_EQ(group.steps[0].begun, 43);
  EXPECT_EQ(group.steps[0].over, false);
  EXPECT_EQ(group.steps[0].pending, 1);
  EXPECT_EQ(group.steps[1].over, true);
  EXPECT_TRUE(group.unseen.empty());
}

TEST(GroupProgress, SendsDoNotCount) {
  Job job;
  job.add(0, counted(6, 5, "ALLREDUCE", 4));
  job.add(1, counted(6, 5));
  job.add(3, counted(5, 5));
  const GroupProgress group = job.progress();
  EXPECT_EQ(group.behind().text(), "3");
  EXPECT_EQ(group.unseen.text(), "2");
  EXPECT_EQ(group.steps[0].begun, 6);
  EXPECT_EQ(group.steps[1].begun, 6);
}

TEST(GroupProgress, OneIsInAnotherCollective) {
  Job job;
  job.add(0, counted(3, 2));
  job.add(1, counted(3, 2));
  job.add(2, counted(3, 2, "ALLGATHER"));
  const GroupProgress group = job.progress();
  EXPECT_EQ(group.mismatched().text(), "2");
  EXPECT_TRUE(group.behind().empty());
}

TEST(GroupProgress, WhoIsThroughProvesNothingOfTheOthers) {
  Job job;
  job.add(0, counted(8, 8));
  job.add(1, counted(7, 6));
  const GroupProgress group = job.progress();
  EXPECT_TRUE(group.apart);
  EXPECT_TRUE(group.behind().empty());
  // The root of a broadcast may have completed.
  Job root;
  root.add(0, counted(8, 8, "BROADCAST"));
  root.add(1, counted(7, 7, "BROADCAST"));
  EXPECT_EQ(root.progress().behind().text(), "1");
}

TEST(GroupProgress, OfOldTorch) {
  Job job;
  job.add(0, of_old_torch(1804289387));
  job.add(1, of_old_torch(1804289386));
  EXPECT_EQ(job.progress().behind().text(), "1");
  EXPECT_FALSE(job.progress().steps[0].over);
  Job apart;
  apart.add(0, of_old_torch(500));
  apart.add(1, of_old_torch(5));
  EXPECT_TRUE(apart.progress().apart);
}

TEST(GroupProgress, WhatCannotBeCounted) {
  Job job;
  job.add(0, counted(1, 0));
  job.add(1, {.type = "ProcessGroupGloo"});
  const GroupProgress group = job.progress();
  EXPECT_EQ(group.uncounted.text(), "1");
  EXPECT_TRUE(group.behind().empty());
  EXPECT_TRUE(group_progress({}).empty());
}

TEST(GroupProgress, NoneHasBegun) {
  Job job;
  job.add(0, {.type = "ProcessGroupGloo",
              .begun = 0,
              .collectives = 0,
              .has_status = true});
  job.add(1, counted(1, 0));
  const GroupProgress group = job.progress();
  EXPECT_EQ(group.behind().text(), "0");
  EXPECT_EQ(group.steps[1].begun, 0);
  EXPECT_EQ(group.steps[1].over, true);
}

}  // namespace
}  // namespace hangdbg
