#include "base/parallel_map.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

namespace hangdbg {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// Without threads, alarm(2) watches the clock: not here.
TEST(InParallel, OfNobodyLeavesTheAlarm) {
  ::alarm(1000);
  EXPECT_TRUE(parallel_map<int>(
      {}, Deadline::in(std::chrono::seconds(1)),
      [](int pid) -> Result<int> { return pid; },
      [](int, std::optional<Result<int>>) { FAIL(); }));
  EXPECT_GT(::alarm(0), 900U);
}

TEST(InParallel, ResultsComeInOrder) {
  std::string told;
  EXPECT_TRUE(parallel_map<int>(
      {5, 3, 4}, Deadline::in(10s),
      [](int pid) -> Result<int> { return pid * 2; },
      [&](int pid, std::optional<Result<int>> result) {
        told += fmt::format("{}:{} ", pid, **result);
      }));
  EXPECT_EQ(told, "5:10 3:6 4:8 ");
  EXPECT_FALSE(threads_left_behind);
}

TEST(InParallelDeathTest, WhatDoesNotEndIsLeftBehindAndKnownToBe) {
  EXPECT_EXIT(
      {
        std::string told;
        const bool all = parallel_map<int>(
            {1, 2}, Deadline::in(50ms),
            [](int pid) -> Result<int> { return pid == 1 ? ::pause() : pid; },
            [&](int pid, std::optional<Result<int>> result) {
              told += fmt::format("{}:{} ", pid, result.has_value());
            });
        ::_exit(!all && threads_left_behind && told == "1:false 2:true " ? 7
                                                                         : 1);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace hangdbg
