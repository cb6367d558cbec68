#include "base/run_with_deadline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

namespace hangdbg {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST(InTime, TheResultIsWhatTheWorkReturns) {
  EXPECT_EQ(run_with_deadline<int>(
                Deadline::in(10s), [] { return 3; },
                [](std::optional<int> result) { return *result + 1; }),
            4);
}

TEST(InTimeDeathTest, WorkThatNeverEndsIsLeftBehind) {
  EXPECT_EXIT(run_with_deadline<int>(
                  Deadline::in(10ms), [] { return ::pause(); },
                  [](std::optional<int> result) { return result ? 1 : 7; }),
              testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace hangdbg
