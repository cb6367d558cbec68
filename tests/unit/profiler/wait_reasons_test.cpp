#include "profiler/sampling/wait_reasons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hangdbg {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

TEST(WaitReasons, AReasonIsOfOneSleep) {
  WaitReasons reasons;
  reasons.tell(12, {.times = 3, .nanoseconds = 500}, "waits for the Lock");
  EXPECT_EQ(reasons.of(12, {.times = 3, .nanoseconds = 500}),
            "waits for the Lock");
  EXPECT_FALSE(reasons.of(12, {.times = 4, .nanoseconds = 600}));
  EXPECT_FALSE(reasons.of(13, {.times = 3, .nanoseconds = 500}));
  reasons.forget(12);
  EXPECT_FALSE(reasons.of(12, {.times = 3, .nanoseconds = 500}));
}

TEST(WaitReasons, EachProcessIsWantedOnce) {
  WaitReasons reasons;
  reasons.want(7);
  reasons.want(5);
  reasons.want(7);
  EXPECT_THAT(reasons.take_wanted(), ElementsAre(5, 7));
  EXPECT_THAT(reasons.take_wanted(), IsEmpty());
}

TEST(WaitReasons, OneSampleTellsTheCallAndItsFile) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto file = static_cast<std::uint64_t>(ends[0]);
  EXPECT_THAT(
      call_reason(::getpid(), {.number = SYS_read, .args = {file}}),
      StartsWith("waits in read, " + std::to_string(ends[0]) + " = pipe:["));
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(call_reason(::getpid(), {.number = SYS_futex}), "waits in futex");
  EXPECT_EQ(call_reason(::getpid(), {.number = -1}), "waits in no system call");
}

}  // namespace
}  // namespace hangdbg
