#include "tracee/proc/proc_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <latch>
#include <thread>

#include "tests/unit/support/processes.h"
#include "tracee/arch/x86_64/registers_x86_64.h"
#include "tracee/memory/memory.h"

namespace hangdbg {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(ListTasks, MainFirst) {
  std::latch done(1);
  Pipe pipe;
  std::thread thread([&] {
    send(pipe.write, ::gettid());
    done.wait();
  });
  const auto tid = receive<int>(pipe.read);
  const auto tasks = list_tasks(::getpid());
  done.count_down();
  thread.join();
  ASSERT_TRUE(tid);
  ASSERT_TRUE(tasks) << tasks.error().text();
  EXPECT_EQ(tasks->front(), ::getpid());
  EXPECT_THAT(*tasks, Contains(*tid));
}

TEST(ListTasks, OfNobody) {
  const auto tasks = list_tasks(dead_pid());
  ASSERT_FALSE(tasks);
  EXPECT_EQ(tasks.error().id, ErrorId::NoSuchProcess);
}

class Named : public testing::TestWithParam<const char*> {};

TEST_P(Named, StatTakesTheNameAsItIs) {
  const Child child([&] {
    ::prctl(PR_SET_NAME, GetParam());
    ::pause();
  });
  ASSERT_TRUE(sleeps_in(child.pid(), child.pid(), "pause"));
  const auto stat = read_task_stat(child.pid(), child.pid());
  ASSERT_TRUE(stat) << stat.error().text();
  EXPECT_EQ(stat->comm, GetParam());
  EXPECT_EQ(stat->state, 'S');
  EXPECT_GT(stat->start_ticks, 0);
  EXPECT_LT(stat->cpu_ticks, 1000);
}

INSTANTIATE_TEST_SUITE_P(Comm,
                         Named,
                         testing::Values("plain",
                                         "a) R (b",
                                         "(((",
                                         ")))",
                                         ") Z 1 2 3",
                                         "",
                                         "two words"));

TEST(ReadTaskStat, CountsCpuTime) {
  const auto before = read_task_stat(::getpid(), ::getpid());
  ASSERT_TRUE(before) << before.error().text();
  EXPECT_EQ(before->state, 'R');
  auto after = before;
  for (const auto deadline = patience();
       !deadline.expired() && after && after->cpu_ticks == before->cpu_ticks;) {
    after = read_task_stat(::getpid(), ::getpid());
  }
  ASSERT_TRUE(after);
  EXPECT_GT(after->cpu_ticks, before->cpu_ticks);
  EXPECT_EQ(after->start_ticks, before->start_ticks);
}

TEST(ReadTaskStat, OfNobody) {
  const int pid = dead_pid();
  const auto stat = read_task_stat(pid, pid);
  ASSERT_FALSE(stat);
  EXPECT_EQ(stat.error().id, ErrorId::NoSuchProcess);
}

TEST(ReadTaskStat, OfAZombie) {
  const Child child([] { ::pause(); });
  ASSERT_EQ(::kill(child.pid(), SIGKILL), 0);
  siginfo_t info{};
  ASSERT_EQ(
      ::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT),
      0);
  const auto stat = read_task_stat(child.pid(), child.pid());
  ASSERT_TRUE(stat) << stat.error().text();
  EXPECT_EQ(stat->state, 'Z');
  EXPECT_EQ(stat->exit_code, SIGKILL);
}

TEST(ReadTaskStat, OfAThreadThatEnded) {
  int tid = 0;
  std::thread([&] { tid = ::gettid(); }).join();
  const auto stat = read_task_stat(::getpid(), tid);
  ASSERT_FALSE(stat);
  EXPECT_EQ(stat.error().id, ErrorId::NoSuchThread);
}

TEST(ReadTaskSyscall, NumberArgumentsAndPlace) {
  static int word = 7;
  const Child child([] {
    ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 7, nullptr, nullptr,
              0x5aL);  // a word on the stack
  });
  ASSERT_TRUE(sleeps_in(child.pid(), child.pid(), "futex"));
  const auto call = read_task_syscall(child.pid(), child.pid());
  ASSERT_TRUE(call) << call.error().text();
  EXPECT_FALSE(call->running);
  EXPECT_EQ(call->number, SYS_futex);
  EXPECT_THAT(call->args,
              ElementsAre(reinterpret_cast<std::uintptr_t>(&word),
                          FUTEX_WAIT_BITSET_PRIVATE, 7, 0, 0, 0x5a));
  const LiveMemory memory(child.pid());
  EXPECT_TRUE(memory.read_address(call->sp));
  const auto before = memory.read_value<std::array<std::byte, 2>>(
      call->pc - sizeof kSyscallInstruction);
  ASSERT_TRUE(before);
  EXPECT_TRUE(std::ranges::equal(*before, kSyscallInstruction));
}

TEST(ReadTaskSyscall, OfOneThatRuns) {
  const Child child([] {
    for (volatile bool forever = true; forever;) {
    }
  });
  bool seen = false;
  for (const auto deadline = patience(); !seen && !deadline.expired();) {
    const auto call = read_task_syscall(child.pid(), child.pid());
    ASSERT_TRUE(call) << call.error().text();
    seen = call->running;
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace hangdbg
