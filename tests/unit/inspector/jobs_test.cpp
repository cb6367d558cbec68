// Ranks recognised by their environment, and jobs by their ranks.
#include "inspector/jobs/grouping.h"

#include <gtest/gtest.h>

namespace hangdbg {
namespace {

std::optional<RankIdentity> identity(std::vector<std::string> entries) {
  return rank_identity(Environment(std::move(entries)));
}

TEST(RankIdentityTest, OfTorchrun) {
  const auto found =
      identity({"RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4",
                "MASTER_ADDR=node1", "MASTER_PORT=29500",
                "TORCHELASTIC_RUN_ID=run-7", "TORCHELASTIC_RESTART_COUNT=2",
                "SLURM_PROCID=1", "SLURM_NTASKS=2", "SLURM_JOB_ID=9"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, "torch");
  EXPECT_EQ(found->job, "run-7");
  EXPECT_EQ(found->rank, 5);
  EXPECT_EQ(found->world_size, 8);
  EXPECT_EQ(found->local_rank, 1);
  EXPECT_EQ(found->restarts, 2);
}

TEST(RankIdentityTest, OfAStoreWhereTheRunHasNoName) {
  const auto found = identity({"RANK=0", "MASTER_ADDR=localhost",
                               "MASTER_PORT=1", "TORCHELASTIC_RUN_ID=none"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->job, "localhost:1");
  EXPECT_EQ(found->world_size, std::nullopt);
}

TEST(RankIdentityTest, OfMpiAndSlurm) {
  const auto mpi = identity({"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=4",
                             "PMIX_NAMESPACE=prterun-1", "SLURM_PROCID=0",
                             "SLURM_NTASKS=2"});
  EXPECT_EQ(mpi->kind, "Open MPI");
  EXPECT_EQ(mpi->rank, 3);
  EXPECT_EQ(identity({"PMI_RANK=1", "PMI_SIZE=2"})->kind, "MPICH");
}

// As srun 22.05 sets them; the tasks of a job's other steps are not these.
TEST(RankIdentityTest, OfATaskOfSlurm) {
  const std::vector<std::string> task = {
      "SLURM_PROCID=3",  "SLURM_NTASKS=8",  "SLURM_STEP_NUM_TASKS=4",
      "SLURM_JOB_ID=77", "SLURM_STEP_ID=0", "SLURM_LOCALID=1",
      "SLURM_GTIDS=1,3"};
  const auto found = identity(task);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, "Slurm");
  EXPECT_EQ(found->job, "77.0");
  EXPECT_EQ(found->world_size, 4);
  EXPECT_EQ(found->node_ranks.text(), "1,3");

  auto by_pmi = task;
  by_pmi.insert(by_pmi.end(),
                {"PMI_RANK=3", "PMI_SIZE=4", "PMI_JOBID=77.0"});  // --mpi=pmi2
  EXPECT_EQ(identity(by_pmi)->kind, "Slurm");
  by_pmi.back() = "PMI_JOBID=kvs_1";
  EXPECT_EQ(identity(by_pmi)->kind, "MPICH");

  auto strange = task;
  strange.back() = "SLURM_GTIDS=1,x";
  EXPECT_TRUE(identity(strange)->node_ranks.empty());
}

// A script that copies its launcher's number into RANK, before and after.
TEST(RankIdentityTest, OfAScriptThatTakesItOver) {
  const auto before = identity(
      {"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "PMIX_NAMESPACE=a"});
  const auto after = identity(
      {"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "PMIX_NAMESPACE=a",
       "RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=b", "MASTER_PORT=1"});
  EXPECT_EQ(before->job, after->job);
}

TEST(RankIdentityTest, OfNone) {
  EXPECT_FALSE(identity({}));
  EXPECT_FALSE(identity({"RANK=3"}));
  EXPECT_FALSE(identity({"RANK=x", "MASTER_ADDR=a", "MASTER_PORT=1"}));
  EXPECT_FALSE(identity({"RANK=-1", "MASTER_ADDR=a", "MASTER_PORT=1"}));
  // A shell, and the script of a batch job.
  EXPECT_FALSE(identity({"SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=1",
                         "SLURM_JOB_ID=7", "SLURM_STEP_ID=0"}));
  EXPECT_FALSE(
      identity({"SLURM_PROCID=0", "SLURM_NTASKS=4", "SLURM_JOB_ID=7"}));
  const auto huge = identity({"RANK=1", "WORLD_SIZE=2000000000",
                              "LOCAL_WORLD_SIZE=2000000000", "LOCAL_RANK=1",
                              "MASTER_ADDR=a", "MASTER_PORT=1"});
  EXPECT_EQ(huge->world_size, std::nullopt);
  EXPECT_EQ(huge->local_size, std::nullopt);
}

// ---- jobs

constexpr int kLauncher = 10;

PythonOfJob rank_of(int pid, int rank, int restarts = 0) {
  return {.pid = pid,
          .identity = RankIdentity{.kind = "torch",
                                   .job = "run",
                                   .rank = rank,
                                   .world_size = 4,
                                   .local_rank = rank,
                                   .local_size = 4,
                                   .restarts = restarts}};
}

std::map<int, AnyProcess> under_launcher(std::initializer_list<int> pids) {
  std::map<int, AnyProcess> all = {{1, {0, "systemd"}},
                                   {kLauncher, {1, "torchrun"}}};
  for (const int pid : pids) {
    all[pid] = {kLauncher, "python3"};
  }
  return all;
}

TEST(JobsTest, OneWithAllItsRanks) {
  const auto jobs = group_jobs(
      {rank_of(21, 1), rank_of(20, 0), rank_of(23, 3), rank_of(22, 2)},
      under_launcher({20, 21, 22, 23}));
  ASSERT_EQ(jobs.size(), 1);
  EXPECT_EQ(jobs[0].launcher, kLauncher);
  EXPECT_EQ(jobs[0].ranks.size(), 4);
  EXPECT_EQ(jobs[0].find(22)->rank, 2);
  EXPECT_TRUE(jobs[0].missing.empty());
}

TEST(JobsTest, AMissingRank) {
  const auto jobs = group_jobs({rank_of(20, 0), rank_of(21, 1), rank_of(23, 3)},
                               under_launcher({20, 21, 23}));
  EXPECT_EQ(jobs[0].missing.text(), "2");
}

TEST(JobsTest, OneThatEndsWhileWeLook) {
  const auto jobs = group_jobs({rank_of(20, 0), rank_of(21, 1), rank_of(23, 3)},
                               under_launcher({20, 23}));
  ASSERT_EQ(jobs.size(), 1);
  EXPECT_EQ(jobs[0].missing.text(), "1,2");
}

TEST(JobsTest, ChildrenAreUnderTheirRank) {
  auto all = under_launcher({20, 21});
  all[30] = {20, "python3"};
  all[31] = {30, "bash"};
  all[32] = {31, "python3"};
  const auto jobs = group_jobs(
      {rank_of(20, 0), rank_of(21, 1), rank_of(30, 0), {.pid = 32}}, all);
  ASSERT_EQ(jobs[0].ranks.size(), 2);
  EXPECT_EQ(jobs[0].ranks[0].children, std::vector({30, 32}));
}

TEST(JobsTest, WhatAnEarlierStartHasLeft) {
  auto all = under_launcher({20, 21});
  all[15] = {1, "python3"};
  const auto jobs =
      group_jobs({rank_of(15, 0), rank_of(20, 0, 1), rank_of(21, 1, 1)}, all);
  ASSERT_EQ(jobs[0].left_over.size(), 1);
  EXPECT_EQ(jobs[0].left_over[0].pid, 15);
  EXPECT_TRUE(jobs[0].left_over[0].orphan);
  EXPECT_FALSE(jobs[0].ranks[0].orphan);
}

TEST(JobsTest, AWorkerIsNotTheRankThatHasDied) {
  auto worker = rank_of(15, 1);
  worker.worker = true;
  auto all = under_launcher({20, 22, 23});
  all[15] = {1, "python3"};
  const auto jobs =
      group_jobs({worker, rank_of(20, 0), rank_of(22, 2), rank_of(23, 3)}, all);
  EXPECT_EQ(jobs[0].missing.text(), "1");
  ASSERT_EQ(jobs[0].left_over.size(), 1);
  EXPECT_EQ(jobs[0].left_over[0].pid, 15);
}

TEST(JobsTest, TasksOfSlurmThatLaunchAreNoRanks) {
  auto all = under_launcher({20, 21, 22, 23});
  const PythonOfJob task{
      .pid = kLauncher,
      .identity = RankIdentity{
          .kind = "Slurm", .job = "7.0", .rank = 1, .world_size = 2}};
  const auto jobs = group_jobs({task, rank_of(20, 0), rank_of(21, 1)}, all);
  ASSERT_EQ(jobs.size(), 1);
  EXPECT_EQ(jobs[0].kind, "torch");
}

// Each rendezvous is at a 127.0.0.1 of its own.
TEST(JobsTest, OfTwoContainers) {
  auto one = rank_of(20, 0), other = rank_of(21, 0);
  one.identity->job = other.identity->job = "127.0.0.1:29500";
  one.network = 1;
  other.network = 2;
  EXPECT_EQ(group_jobs({one, other}, under_launcher({20, 21})).size(), 2);
  other.network = 1;
  EXPECT_EQ(group_jobs({one, other}, under_launcher({20, 21})).size(), 1);
}

// MPICH's have no name: each is its mpiexec's, or its proxy's on another node.
TEST(JobsTest, WithoutANameByWhoHasStartedThem) {
  auto all = under_launcher({});
  std::vector<PythonOfJob> pythons;
  const auto add = [&](int starter, const char* name, int proxy, int rank) {
    all[starter] = {1, name};
    all[proxy] = {starter, "hydra_pmi_proxy"};
    const int pid = proxy + 1;
    all[pid] = {proxy, "python3"};
    pythons.push_back(rank_of(pid, rank));
    pythons.back().identity->kind = "MPICH";
    pythons.back().identity->job = "";
  };
  add(100, "mpiexec.hydra", 110, 0);
  add(100, "mpiexec.hydra", 120, 1);
  add(200, "mpirun", 210, 0);
  add(300, "sshd", 310, 2);
  add(300, "sshd", 320, 2);
  const auto jobs = group_jobs(pythons, all);
  ASSERT_EQ(jobs.size(), 4);
  EXPECT_EQ(jobs[0].id, "100");
  EXPECT_EQ(jobs[0].ranks.size(), 2);
}

// By mp.spawn: known by their index among its processes, until they have a
// name.
TEST(JobsTest, SpawnedAndWithoutAName) {
  auto all = under_launcher({20, 21});
  all[11] = {1, "python3"};
  all[30] = all[31] = {11, "python3"};
  std::vector<PythonOfJob> pythons = {rank_of(20, 0), rank_of(21, 1),
                                      rank_of(30, 0), rank_of(31, 1)};
  for (PythonOfJob& python : pythons) {
    python.identity->job = "";
    python.identity->spawned = true;
  }
  auto jobs = group_jobs(pythons, all);
  ASSERT_EQ(jobs.size(), 2);
  EXPECT_EQ(jobs[0].id, "10");
  EXPECT_EQ(jobs[1].id, "11");
  EXPECT_EQ(jobs[0].missing.text(), "2,3");

  // One has found its rendezvous.
  pythons[1].identity->job = "127.0.0.1:1";
  pythons[1].identity->spawned = false;
  jobs = group_jobs(pythons, all);
  ASSERT_EQ(jobs.size(), 2);
  EXPECT_EQ(jobs[1].id, "127.0.0.1:1");
  EXPECT_EQ(jobs[1].launcher, 10);
  EXPECT_EQ(jobs[1].ranks.size(), 2);
}

// It does not have its number yet; a DataLoader's worker of the launcher never
// gets one.
TEST(JobsTest, SpawnedAndNotNumberedYet) {
  const PythonOfJob late{.pid = 23, .spawned = true};
  auto pythons = std::vector{rank_of(20, 0), rank_of(21, 1), late};
  const auto all = under_launcher({20, 21, 22, 23, 24});
  auto jobs = group_jobs(pythons, all);
  EXPECT_EQ(jobs[0].missing.text(), "2,3");
  EXPECT_EQ(jobs[0].unnumbered, std::vector({23}));
  pythons.insert(pythons.end(), {rank_of(22, 2), rank_of(24, 3)});
  jobs = group_jobs(pythons, all);
  EXPECT_TRUE(jobs[0].unnumbered.empty());
}

// If ranks are dealt out in turns, those of a node are unknown; Slurm records
// them.
TEST(JobsTest, RanksInTurns) {
  auto one = rank_of(20, 0), other = rank_of(21, 2);
  for (auto* const rank : {&one, &other}) {
    rank->identity->kind = "Open MPI";
    rank->identity->world_size = 6;
    rank->identity->local_size = 3;
  }
  other.identity->local_rank = 1;
  auto jobs = group_jobs({one, other}, under_launcher({20, 21}));
  EXPECT_EQ(jobs[0].missing.text(), "");
  EXPECT_EQ(jobs[0].elsewhere.text(), "1,3-5");

  for (auto* const rank : {&one, &other}) {
    rank->identity->kind = "Slurm";
    rank->identity->local_size.reset();
    for (const int number : {0, 2, 4}) {
      rank->identity->node_ranks.add(number);
    }
  }
  jobs = group_jobs({one, other}, under_launcher({20, 21}));
  EXPECT_EQ(jobs[0].missing.text(), "4");
  EXPECT_EQ(jobs[0].elsewhere.text(), "1,3,5");
}

// Nothing is known about another node's ranks.
TEST(JobsTest, RanksOfOtherMachines) {
  auto one = rank_of(20, 4), other = rank_of(21, 5);
  one.identity->local_rank = 0;
  other.identity->local_rank = 1;
  one.identity->local_size = other.identity->local_size = 3;
  one.identity->world_size = other.identity->world_size = 9;
  const auto jobs = group_jobs({one, other}, under_launcher({20, 21}));
  EXPECT_EQ(jobs[0].missing.text(), "6");
  EXPECT_EQ(jobs[0].elsewhere.text(), "0-3,7,8");
}

}  // namespace
}  // namespace hangdbg
