// The one cause of a job, from made-up ranks.
#include "diagnosis/jobs/job_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hangdbg {
namespace {

using testing::HasSubstr;

// Four ranks of torch.distributed, each asleep for a minute.
class JobOfFour {
 public:
  JobOfFour() {
    job_.job.id = "made-up";
    job_.job.world_size = 4;
  }

  // In a collective of the group of all, its `number`th.
  JobOfFour& in(int rank, const char* function, std::uint64_t number) {
    RankDiagnosis& one = add(rank);
    one.call = CollectiveCall{.function = function, .group = "0"};
    one.groups = groups(number);
    return *this;
  }

  // Missing, as its process has ended.
  JobOfFour& ended(int rank) {
    job_.job.missing.add(rank);
    return *this;
  }

  // In no collective, but stuck behind a lock file.
  JobOfFour& stuck(int rank, std::uint64_t number) {
    RankDiagnosis& one = add(rank);
    one.groups = groups(number);
    one.found->cause = {.id = CauseId::StaleLockFile,
                        .progress = Progress::Stuck,
                        .confidence = Confidence::Certain,
                        .summary = "waits for fused.lock"};
    one.found->chain.front().cause = one.found->cause;
    one.found->state = Progress::Stuck;
    return *this;
  }

  // Asleep for a second, in a loop that only sleeps or also works.
  JobOfFour& naps(int rank, std::uint64_t number, bool works) {
    RankDiagnosis& one = add(rank);
    one.groups = groups(number);
    one.found->cause = {.id = CauseId::Sleeps,
                        .progress = Progress::Idle,
                        .confidence = Confidence::Certain,
                        .summary = "sleeps between rounds",
                        .timeout_scale = works ? 1.0 : 0.0};
    one.found->chain.front().cause = one.found->cause;
    one.found->chain.front().waiting_s = 1;
    one.found->state = Progress::Idle;
    one.found->stalled = false;
    return *this;
  }

  const JobDiagnosis& cause() {
    find_job_cause(job_, 10);
    return job_;
  }

 private:
  RankDiagnosis& add(int rank) {
    const int pid = 99999900 + rank;
    job_.job.ranks.push_back({.rank = rank, .pid = pid});
    Diagnosis found{.pid = pid, .state = Progress::Blocked, .stalled = true};
    found.cause = {.id = CauseId::Collective,
                   .progress = Progress::Blocked,
                   .confidence = Confidence::Likely,
                   .summary = "waits in a collective"};
    found.chain.push_back({});
    found.chain.front().id = {pid, pid};
    found.chain.front().cause = found.cause;
    found.chain.front().waiting_s = 60;
    job_.ranks.push_back({.rank = rank, .pid = pid, .found = found});
    return job_.ranks.back();
  }

  static ProcessGroups groups(std::uint64_t number) {
    return {.imported = true,
            .groups = {{.name = "0",
                        .is_default = true,
                        .ranks = {0, 1, 2, 3},
                        .backends = {{.type = "ProcessGroupGloo",
                                      .begun = number,
                                      .collectives = number}}}}};
  }

  JobDiagnosis job_;
};

TEST(JobCause, ARankHasEnded) {
  JobOfFour job;
  const JobDiagnosis& found = job.in(0, "all_reduce", 43)
                                  .in(1, "all_reduce", 43)
                                  .in(3, "all_reduce", 43)
                                  .ended(2)
                                  .cause();
  EXPECT_EQ(found.cause.id, CauseId::RankEnded) << found.cause.summary;
  EXPECT_EQ(found.cause.confidence, Confidence::Certain);
  EXPECT_EQ(found.odd.text(), "2");
  EXPECT_TRUE(found.hung);
  EXPECT_THAT(found.cause.summary, HasSubstr("rank 2 has ended"));
}

TEST(JobCause, RanksCallDifferentCollectives) {
  JobOfFour job;
  const JobDiagnosis& found = job.in(0, "all_reduce", 43)
                                  .in(1, "all_reduce", 43)
                                  .in(2, "broadcast", 43)
                                  .in(3, "all_reduce", 43)
                                  .cause();
  EXPECT_EQ(found.cause.id, CauseId::CollectiveMismatch) << found.cause.summary;
  EXPECT_EQ(found.odd.text(), "2");
  EXPECT_TRUE(found.hung);
}

TEST(JobCause, ARankIsStuckElsewhere) {
  JobOfFour job;
  const JobDiagnosis& found = job.in(0, "all_reduce", 43)
                                  .in(1, "all_reduce", 43)
                                  .stuck(2, 42)
                                  .in(3, "all_reduce", 43)
                                  .cause();
  EXPECT_EQ(found.cause.id, CauseId::StaleLockFile) << found.cause.summary;
  EXPECT_EQ(found.odd.text(), "2");
  EXPECT_TRUE(found.hung);
}

// However short each of its sleeps is.
TEST(JobCause, ARankThatOnlySleepsRests) {
  for (const bool works : {false, true}) {
    JobOfFour job;
    const JobDiagnosis& found = job.in(0, "all_reduce", 43)
                                    .in(1, "all_reduce", 43)
                                    .naps(2, 42, works)
                                    .in(3, "all_reduce", 43)
                                    .cause();
    EXPECT_EQ(found.cause.id, CauseId::Sleeps) << found.cause.summary;
    EXPECT_EQ(found.odd.text(), "2");
    EXPECT_EQ(found.hung, !works);
  }
}

TEST(JobCause, AllHaveComeThere) {
  JobOfFour job;
  const JobDiagnosis& found = job.in(0, "all_reduce", 43)
                                  .in(1, "all_reduce", 43)
                                  .in(2, "all_reduce", 43)
                                  .in(3, "all_reduce", 43)
                                  .cause();
  EXPECT_EQ(found.cause.id, CauseId::Collective) << found.cause.summary;
  EXPECT_FALSE(found.hung);
  EXPECT_TRUE(found.stalled);
  EXPECT_TRUE(found.odd.empty());
}

}  // namespace
}  // namespace hangdbg
