#include "tracee/proc/proc_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

using testing::ElementsAre;

TEST(ParseStatus, EveryField) {
  const auto status = parse_status(
      "Name:\tpython3\n"
      "Umask:\t0022\n"
      "State:\tt (tracing stop)\n"
      "Tgid:\t4711\n"
      "Ngid:\t9\n"
      "Pid:\t4712\n"
      "PPid:\t17\n"
      "TracerPid:\t99\n"
      "Uid:\t1000\t1001\t1002\t1003\n"
      "VmSize:\t   13216 kB\n"
      "Threads:\t12\n"
      "SigPnd:\t0000000000000001\n"
      "SigBlk:\t8000000000000200\n"
      "SigIgn:\t0000000000001000\n"
      "SigCgt:\t0000000180004002\n"
      "CapPrm:\t000001ffffffffff\n"
      "CapEff:\t0000000000002000\n"
      "Seccomp:\t2\n"
      "Seccomp_filters:\t1\n"
      "voluntary_ctxt_switches:\t18446744073709551615\n"
      "nonvoluntary_ctxt_switches:\t3\n");
  EXPECT_EQ(status.name, "python3");
  EXPECT_EQ(status.state, 't');
  EXPECT_EQ(status.tgid, 4711);
  EXPECT_EQ(status.ppid, 17);
  EXPECT_EQ(status.tracer_pid, 99);
  EXPECT_THAT(status.uids, ElementsAre(1000, 1001, 1002, 1003));
  EXPECT_TRUE(status.has_memory);
  EXPECT_EQ(status.threads, 12);
  EXPECT_EQ(status.signals_blocked, 0x8000000000000200);
  EXPECT_EQ(status.signals_ignored, 0x1000);
  EXPECT_EQ(status.signals_caught, 0x180004002);
  EXPECT_EQ(status.seccomp, 2);
  EXPECT_EQ(status.seccomp_filters, 1);
  EXPECT_EQ(status.capabilities, 0x1ffffffffff);
  EXPECT_EQ(status.effective_capabilities, 0x2000);
  EXPECT_EQ(status.voluntary_switches, ~std::uint64_t{0});
  EXPECT_EQ(status.involuntary_switches, 3);
}

TEST(ParseStatus, WhatIsNotThereKeepsItsDefault) {
  for (const char* const text :
       {"", "\n", "Name", "Name:", "State:\t\n", "TracerPid:\t\n", "\t\n:\t"}) {
    const auto status = parse_status(text);
    EXPECT_EQ(status.name, "") << text;
    EXPECT_EQ(status.state, '?') << text;
    EXPECT_EQ(status.tracer_pid, 0) << text;
    EXPECT_FALSE(status.has_memory) << text;
  }
}

// The kernel escapes a newline in a name, and nothing else.
TEST(ParseStatus, ANameCannotPoseAsAField) {
  const auto status =
      parse_status("Name:\tx\\nTracerPid:\t7\nState:\tS (sleeping)\n");
  EXPECT_EQ(status.name, "x\\nTracerPid:\t7");
  EXPECT_EQ(status.tracer_pid, 0);
  EXPECT_EQ(status.state, 'S');
}

TEST(ReadStatus, OfThisProcess) {
  const auto status = read_status(::getpid());
  ASSERT_TRUE(status) << status.error().text();
  EXPECT_EQ(status->state, 'R');
  EXPECT_EQ(status->tgid, ::getpid());
  EXPECT_EQ(status->ppid, ::getppid());
  EXPECT_EQ(status->uids[1], ::geteuid());
  EXPECT_GE(status->threads, 1);
  EXPECT_TRUE(status->has_memory);
}

TEST(ReadStatus, SignalsOfAChild) {
  const Child child([] {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    ::sigprocmask(SIG_SETMASK, &set, nullptr);
    ::signal(SIGUSR2, SIG_IGN);
    ::signal(SIGTERM, [](int) {});
    ::pause();
  });
  ASSERT_TRUE(sleeps_in(child.pid(), child.pid(), "pause"));
  const auto status = read_status(child.pid());
  ASSERT_TRUE(status) << status.error().text();
  const auto bit = [](int signal) { return std::uint64_t{1} << (signal - 1); };
  EXPECT_EQ(status->signals_blocked, bit(SIGUSR1));
  EXPECT_TRUE(status->signals_ignored & bit(SIGUSR2));
  EXPECT_TRUE(status->signals_caught & bit(SIGTERM));
  EXPECT_FALSE(status->signals_caught & bit(SIGUSR2));
  EXPECT_EQ(status->state, 'S');
  EXPECT_EQ(status->ppid, ::getpid());
}

TEST(ReadTaskStatus, OfOneThread) {
  std::latch done(1);
  Pipe pipe;
  std::thread thread([&] {
    ::prctl(PR_SET_NAME, "hd-test");
    send(pipe.write, ::gettid());
    done.wait();
  });
  const auto tid = receive<int>(pipe.read);
  EXPECT_TRUE(tid);
  const auto status = read_task_status(::getpid(), tid.value_or(0));
  done.count_down();
  thread.join();
  ASSERT_TRUE(status) << status.error().text();
  EXPECT_EQ(status->name, "hd-test");
  EXPECT_EQ(status->tgid, ::getpid());
}

TEST(ReadStatus, OfNobody) {
  const auto status = read_status(dead_pid());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().id, ErrorId::NoSuchProcess);
}

TEST(EndsBefore, OnlyWhatEnds) {
  Child child([] { ::pause(); });
  EXPECT_FALSE(
      ends_before(child.pid(), Deadline::in(std::chrono::milliseconds(5))));
  ::kill(child.pid(), SIGKILL);
  EXPECT_TRUE(ends_before(child.pid(), patience()));
  EXPECT_EQ(read_status(child.pid())->state, 'Z');
  EXPECT_TRUE(ends_before(child.pid(), patience()));
  child.end();
  EXPECT_TRUE(ends_before(child.pid(), patience()));
}

}  // namespace
}  // namespace hangdbg
