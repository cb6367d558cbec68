// Questions to ranks: the children are this program, each of which runs one of
// the tests at the end.
#include "client/ranks/each_rank.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace hangdbg {
namespace {

using std::chrono_literals::operator""s;

std::vector<JobRank> ranks(int count) {
  std::vector<JobRank> ranks;
  for (int rank = 0; rank < count; ++rank) {
    ranks.push_back({.rank = rank, .pid = ::getpid()});
  }
  return ranks;
}

// `does`: what each runs, one of the tests below.
std::vector<RankOutput> run(int count,
                            std::chrono::seconds patience,
                            const std::function<const char*(int rank)>& does) {
  // The child runs its test even if this run has only a shard of the tests.
  ::unsetenv("GTEST_TOTAL_SHARDS");
  ::unsetenv("GTEST_SHARD_INDEX");
  return run_for_each(
             ranks(count),
             [&](const JobRank& rank) -> std::vector<std::string> {
               return {fmt::format("--gtest_filter=AsARank.DISABLED_{}",
                                   does(rank.rank)),
                       "--gtest_also_run_disabled_tests", "--gtest_brief=1"};
             },
             Deadline::in(patience))
      .value();
}

TEST(EachRankTest, AnswersAndCodes) {
  const auto outputs =
      run(3, 20s, [](int rank) { return rank == 1 ? "Fails" : "Answers"; });
  EXPECT_NE(outputs[0].out.find("I answer"), std::string::npos);
  EXPECT_NE(outputs[1].err.find("I fail"), std::string::npos);
  EXPECT_EQ(outputs[0].code, 0);
  EXPECT_EQ(outputs[1].code, 3);
  EXPECT_EQ(code_of(outputs, false), 1);
  EXPECT_EQ(code_of({outputs[1]}, false), 3);
  EXPECT_EQ(code_of({outputs[0]}, true), 1);
}

// Killed by another process. (SIGCHLD may be ignored since exec.)
TEST(EachRankTest, OneThatIsKilled) {
  std::signal(SIGCHLD, SIG_IGN);
  const auto outputs = run(1, 20s, [](int) { return "Dies"; });
  EXPECT_EQ(outputs[0].code, 128 + SIGKILL);
  EXPECT_EQ(outputs[0].gave_up, std::nullopt);
}

// More than run at once: the last ones are never started.
TEST(EachRankTest, TimeIsUp) {
  const auto outputs = run(70, 0s, [](int) { return "Hangs"; });
  for (const RankOutput& output : outputs) {
    EXPECT_EQ(output.gave_up, ErrorId::TimedOut);
    EXPECT_EQ(output.code, 4);
  }
  EXPECT_EQ(code_of(outputs, false), 4);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

// A child that has closed its pipes may still be alive.
TEST(EachRankTest, SilentAndAlive) {
  const auto begun = std::chrono::steady_clock::now();
  const auto outputs =
      run(2, 0s, [](int rank) { return rank == 0 ? "IsSilent" : "Answers"; });
  EXPECT_EQ(outputs[0].gave_up, ErrorId::TimedOut);
  EXPECT_EQ(outputs[1].gave_up, std::nullopt);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
}

// A process that keeps the pipes open does not delay hangdbg.
TEST(EachRankTest, OneThatLeavesItsPipesToAnother) {
  const auto outputs = run(1, 60s, [](int) { return "LeavesAChild"; });
  EXPECT_EQ(outputs[0].code, 0);
  const auto at = outputs[0].out.find("child ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(::kill(std::stoi(outputs[0].out.substr(at + 6)), SIGKILL), 0);
}

// Before the first is started, so that none is.
TEST(EachRankTest, CtrlC) {
  sigset_t set, before;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &set, &before);
  ::raise(SIGINT);
  const auto outputs = run(2, 60s, [](int) { return "Hangs"; });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (const RankOutput& output : outputs) {
    EXPECT_EQ(output.gave_up, ErrorId::Interrupted);
  }
  EXPECT_EQ(code_of(outputs, false), 130);
}

TEST(EachRankTest, CtrlCIsTheCodeOfAll) {
  EXPECT_EQ(code_of({{.code = 0}, {.code = 130}, {.code = 4}}, false), 130);
}

// ---- what the children do

TEST(AsARank, DISABLED_Answers) {
  fmt::print("I answer\n");
}

TEST(AsARank, DISABLED_Fails) {
  fmt::print(stderr, "I fail\n");
  ::_exit(3);
}

TEST(AsARank, DISABLED_Dies) {
  ::raise(SIGKILL);
}

TEST(AsARank, DISABLED_Hangs) {
  for (;;) {
    ::pause();
  }
}

TEST(AsARank, DISABLED_IsSilent) {
  ::close(STDOUT_FILENO);
  ::close(STDERR_FILENO);
  for (;;) {
    ::pause();
  }
}

TEST(AsARank, DISABLED_LeavesAChild) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    for (;;) {
      ::pause();
    }
  }
  fmt::print("child {}\n", child);
}

}  // namespace
}  // namespace hangdbg
