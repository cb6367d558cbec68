#include "tracee/proc/wait_sample.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

TEST(SampleWait, AThreadAsleep) {
  const Child child([] { ::pause(); });
  ASSERT_TRUE(sleeps_in(child.pid(), child.pid(), "pause"));
  const auto first = sample_wait(child.pid(), child.pid());
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(first->state, 'S');
  EXPECT_EQ(first->syscall, "pause");
  EXPECT_GT(first->runs.times, 0);
  const auto second = sample_wait(child.pid(), child.pid());
  ASSERT_TRUE(second);
  EXPECT_EQ(second->runs, first->runs);
  EXPECT_EQ(second->cpu_ticks, first->cpu_ticks);
  if (!first->asleep_s) {
    GTEST_SKIP() << "this kernel does not tell when a thread last ran";
  }
  EXPECT_GE(*first->asleep_s, 0);
  EXPECT_LT(*first->asleep_s, 60);
  EXPECT_GE(*second->asleep_s, *first->asleep_s);
}

// Each CPU has a clock of its own, which lacks time taken by a hypervisor.
TEST(SampleWait, NobodySleepsForLongerThanItLives) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all)) {
      continue;
    }
    const auto born = std::chrono::steady_clock::now();
    const Child child([cpu] {
      cpu_set_t only;
      CPU_ZERO(&only);
      CPU_SET(cpu, &only);
      ::sched_setaffinity(0, sizeof only, &only);
      ::pause();
    });
    ASSERT_TRUE(sleeps_in(child.pid(), child.pid(), "pause"));
    const auto look = sample_wait(child.pid(), child.pid());
    ASSERT_TRUE(look) << look.error().text();
    const std::chrono::duration<double> age =
        std::chrono::steady_clock::now() - born;
    if (look->asleep_s) {
      EXPECT_LT(*look->asleep_s, age.count() + 0.05) << "CPU " << cpu;
    }
  }
}

struct LimitedWait {
  const char* name;
  void (*wait)();
  std::size_t argument;  // one of the call's, and its value
  std::uint64_t value;
};

class WaitThatGoesOn : public testing::TestWithParam<LimitedWait> {};

// As before, with its arguments.
TEST_P(WaitThatGoesOn, AfterAStop) {
  const Child child(GetParam().wait);
  ASSERT_TRUE(sleeps_in(child.pid(), child.pid(), GetParam().name));
  ASSERT_EQ(::kill(child.pid(), SIGSTOP), 0);
  ASSERT_EQ(::waitpid(child.pid(), nullptr, WUNTRACED), child.pid());
  ASSERT_EQ(::kill(child.pid(), SIGCONT), 0);
  ASSERT_TRUE(sleeps_in(child.pid(), child.pid(), "restart_syscall"));
  if (read_task_wchan(child.pid(), child.pid()).value_or("").empty()) {
    GTEST_SKIP() << "this kernel does not tell where a thread waits";
  }
  const auto look = sample_wait(child.pid(), child.pid());
  ASSERT_TRUE(look) << look.error().text();
  EXPECT_EQ(look->syscall, GetParam().name);
  EXPECT_EQ(look->call.args[GetParam().argument], GetParam().value);
}

timespec long_time{1'000'000, 0};  // seconds
int word = 7;

INSTANTIATE_TEST_SUITE_P(
    Calls,
    WaitThatGoesOn,
    testing::Values(
        LimitedWait{"poll", [] { ::poll(nullptr, 0, 1'000'000); }, 2,
                    1'000'000},
        LimitedWait{"nanosleep",
                    [] { ::syscall(SYS_nanosleep, &long_time, nullptr); }, 0,
                    reinterpret_cast<std::uint64_t>(&long_time)},
        LimitedWait{
            "clock_nanosleep",
            [] { ::clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, nullptr); },
            0, CLOCK_MONOTONIC},
        LimitedWait{"futex",
                    [] {
                      ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 7,
                                &long_time, nullptr, 0);
                    },
                    0, reinterpret_cast<std::uint64_t>(&word)}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(SampleWait, AThreadThatRuns) {
  const auto look = sample_wait(::getpid(), ::getpid());
  ASSERT_TRUE(look) << look.error().text();
  EXPECT_EQ(look->state, 'R');
  EXPECT_FALSE(look->asleep_s);
}

TEST(SampleWait, OfNobody) {
  const int pid = dead_pid();
  const auto look = sample_wait(pid, pid);
  ASSERT_FALSE(look);
  EXPECT_EQ(look.error().id, ErrorId::NoSuchThread);
}

}  // namespace
}  // namespace hangdbg
