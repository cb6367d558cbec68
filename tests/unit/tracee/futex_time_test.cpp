// For how long a thread may still sleep, of arguments that the test made.
#include "tracee/syscalls/futex_time.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "tracee/memory/memory.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/syscalls/syscall_text.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kAt = 0x10000;
constexpr std::time_t kHour = 3600;

struct Wait {
  FakeMemory memory;
  TaskSyscall call;

  Wait(std::uint64_t operation, ::timespec time) {
    const auto* const first = reinterpret_cast<const std::byte*>(&time);
    memory.add({kAt}, {first, first + sizeof time});
    call.number = SYS_futex;
    call.args = {0x20000, operation, 0, kAt};
  }
  std::optional<FutexTime> left(std::optional<int> pid = ::getpid()) const {
    return futex_time_left(pid, memory, call);
  }
  std::string text() const {
    return syscall_arguments(::getpid(), memory, call).at(3);
  }
};

::timespec in_an_hour(clockid_t clock) {
  ::timespec time{};
  ::clock_gettime(clock, &time);
  time.tv_sec += kHour;
  return time;
}

TEST(FutexTime, ADurationIsAsItWasAskedFor) {
  const Wait wait(FUTEX_WAIT_PRIVATE, {.tv_sec = 58, .tv_nsec = 500'000'000});
  ASSERT_TRUE(wait.left(std::nullopt));
  EXPECT_DOUBLE_EQ(wait.left()->seconds, 58.5);
  EXPECT_FALSE(wait.left()->is_a_moment);
  EXPECT_EQ(wait.text(), "58.5 s");
}

TEST(FutexTime, AMomentIsOfTheOperationsClock) {
  const Wait waits[] = {
      {FUTEX_WAIT_BITSET_PRIVATE, in_an_hour(CLOCK_MONOTONIC)},
      {FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, in_an_hour(CLOCK_REALTIME)},
      {FUTEX_LOCK_PI_PRIVATE, in_an_hour(CLOCK_REALTIME)},
      {FUTEX_LOCK_PI2_PRIVATE, in_an_hour(CLOCK_MONOTONIC)},
      {FUTEX_WAIT_REQUEUE_PI, in_an_hour(CLOCK_MONOTONIC)}};
  for (const Wait& wait : waits) {
    ASSERT_TRUE(wait.left());
    EXPECT_LE(wait.left()->seconds, kHour);
    EXPECT_GT(wait.left()->seconds, kHour / 2);
    EXPECT_TRUE(wait.left()->is_a_moment);
    EXPECT_TRUE(wait.text().ends_with(" more")) << wait.text();
  }
}

TEST(FutexTime, WhatIsOver) {
  const Wait wait(FUTEX_WAIT_BITSET_PRIVATE, {.tv_sec = 0, .tv_nsec = 1});
  ASSERT_TRUE(wait.left());
  EXPECT_LT(wait.left()->seconds, 0);
}

TEST(FutexTime, NothingIsSaidOfWhatCannotBeTold) {
  const Wait wait(FUTEX_WAIT_BITSET_PRIVATE, in_an_hour(CLOCK_MONOTONIC));
  EXPECT_FALSE(wait.left(std::nullopt));  // of a process that is no more
  Wait unreadable = wait;
  unreadable.call.args[3] = 0x30000;
  EXPECT_FALSE(unreadable.left());
  EXPECT_EQ(unreadable.text(), "0x30000");
  Wait endless = wait;
  endless.call.args[3] = 0;
  EXPECT_FALSE(endless.left());
  EXPECT_EQ(endless.text(), "for ever");
}

}  // namespace
}  // namespace hangdbg
