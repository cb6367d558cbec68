#include "profiler/sampling/schedule.h"

#include <gtest/gtest.h>

namespace hangdbg {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

const Schedule::Clock::time_point kStart{};

TEST(Schedule, SamplesAreDueAtFixedTimes) {
  Schedule schedule(kStart, 100, 1);
  EXPECT_EQ(schedule.next(), kStart);
  EXPECT_EQ(schedule.advance(kStart + milliseconds(3), {}), 0U);
  EXPECT_EQ(schedule.next(), kStart + milliseconds(10));
  EXPECT_FALSE(schedule.is_late(kStart + milliseconds(14)));
  EXPECT_TRUE(schedule.is_late(kStart + milliseconds(15)));
  // It took until 24: that of 20 is late, and none is missed.
  EXPECT_EQ(schedule.advance(kStart + milliseconds(24), {}), 0U);
  EXPECT_EQ(schedule.next(), kStart + milliseconds(20));
}

TEST(Schedule, ThoseThatAnotherHasFollowedAreMissed) {
  Schedule schedule(kStart, 100, 1);
  EXPECT_EQ(schedule.advance(kStart + milliseconds(35), {}), 2U);
  EXPECT_EQ(schedule.next(), kStart + milliseconds(30));
  EXPECT_EQ(schedule.unit(), 3U);
}

TEST(Schedule, TheRateFallsWhereTheCostIsTooHighAndRises) {
  Schedule schedule(kStart, 1000, 0.01);
  auto now = kStart;
  const auto sample = [&](int times, microseconds stopped) {
    for (int i = 0; i < times; ++i) {
      now = schedule.next();
      schedule.advance(now, stopped);
    }
  };
  sample(60, microseconds(9));  // 0.9 %
  EXPECT_EQ(schedule.weight(), 1U);
  EXPECT_FALSE(schedule.was_lowered());
  sample(2000, microseconds(40));  // would be 4 %
  EXPECT_EQ(schedule.weight(), 4U);
  EXPECT_EQ(schedule.period(), milliseconds(4));
  EXPECT_DOUBLE_EQ(schedule.lowest_rate(), 250);
  sample(2000, microseconds(9));
  EXPECT_EQ(schedule.weight(), 1U);
  EXPECT_TRUE(schedule.was_lowered());
}

TEST(Schedule, WhatACostlySampleHasTakenIsPaidBackAtOnce) {
  Schedule schedule(kStart, 100, 0.01);
  EXPECT_EQ(schedule.advance(kStart, microseconds(50)), 0U);
  EXPECT_EQ(schedule.next(), kStart + milliseconds(10));
  EXPECT_EQ(schedule.times_put_off(), 0U);
  // 3 ms are 1 % of 300: with those before, of 305.
  EXPECT_EQ(schedule.advance(schedule.next(), milliseconds(3)), 0U);
  EXPECT_EQ(schedule.next(), kStart + milliseconds(310));
  EXPECT_EQ(schedule.times_put_off(), 1U);
  // It stands for all that time, and for its own.
  EXPECT_EQ(schedule.unit(), 2U);
  EXPECT_EQ(schedule.weight(), 30U);
  EXPECT_EQ(schedule.usual_weight(), 1U);
  EXPECT_FALSE(schedule.is_late(kStart + milliseconds(311)));
  schedule.advance(schedule.next(), {});
  EXPECT_EQ(schedule.next(), kStart + milliseconds(320));
  EXPECT_EQ(schedule.weight(), 1U);
}

TEST(Schedule, WhatIsSpentIsNeverMoreThanItMayButForTheLast) {
  Schedule schedule(kStart, 1000, 0.02);
  std::chrono::duration<double> spent{};
  for (int i = 0; i < 3000; ++i) {
    const auto now = schedule.next();
    EXPECT_LE(spent, (now - kStart) * 0.02 + microseconds(1));
    const microseconds stopped(i % 100 == 0 ? 20'000 : 10 + i % 7 * 30);
    spent += stopped;
    schedule.advance(now, stopped);
  }
}

}  // namespace
}  // namespace hangdbg
