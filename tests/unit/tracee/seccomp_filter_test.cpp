// Filters run by hangdbg give the kernel's result, and never less than the
// worst where an argument is unknown.
#include "tracee/ptrace/seccomp_filter.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

constexpr CallVerdict kAllowed{};
constexpr CallVerdict kKilled{CallOutcome::Kills, 0};
constexpr CallVerdict fails(int number) {
  return {CallOutcome::Fails, number};
}

constexpr sock_filter load(unsigned offset) {
  return {BPF_LD | BPF_W | BPF_ABS, 0, 0, offset};
}
constexpr sock_filter load_number() {
  return load(offsetof(seccomp_data, nr));
}
constexpr sock_filter load_low(unsigned argument) {
  return load(offsetof(seccomp_data, args) + 8 * argument);
}
constexpr sock_filter jump(unsigned short how,
                           unsigned k,
                           unsigned char yes,
                           unsigned char no) {
  return {static_cast<unsigned short>(BPF_JMP | how), yes, no, k};
}
constexpr sock_filter answer(unsigned value) {
  return {BPF_RET | BPF_K, 0, 0, value};
}
constexpr sock_filter compute(unsigned short how, unsigned k) {
  return {static_cast<unsigned short>(BPF_ALU | how), 0, 0, k};
}

constexpr unsigned kErrno = SECCOMP_RET_ERRNO | EPERM;

CallVerdict judge(const std::vector<FilterProgram>& filters,
                  long number,
                  std::array<CallArgument, 6> arguments = {}) {
  return judge_call(filters, number, arguments);
}

TEST(SeccompFilter, NoFilterAllows) {
  EXPECT_EQ(judge({}, SYS_read), kAllowed);
}

TEST(SeccompFilter, ByNumber) {
  const FilterProgram program = {load_number(), jump(BPF_JEQ, SYS_clone, 0, 1),
                                 answer(kErrno), answer(SECCOMP_RET_ALLOW)};
  EXPECT_EQ(judge({program}, SYS_clone), fails(EPERM));
  EXPECT_EQ(judge({program}, SYS_read), kAllowed);
}

TEST(SeccompFilter, EachAction) {
  for (const unsigned kills :
       {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP,
        0x12345678u}) {
    EXPECT_EQ(judge({{answer(kills)}}, 1), kKilled) << kills;
  }
  EXPECT_EQ(judge({{answer(SECCOMP_RET_USER_NOTIF)}}, 1),
            (CallVerdict{CallOutcome::Asks, 0}));
  EXPECT_EQ(judge({{answer(SECCOMP_RET_LOG)}}, 1), kAllowed);
  EXPECT_EQ(judge({{answer(SECCOMP_RET_TRACE | 7)}}, 1), fails(ENOSYS));
  EXPECT_EQ(judge({{answer(SECCOMP_RET_ERRNO | 0xffff)}}, 1), fails(4095));
}

TEST(SeccompFilter, TheStrictestOfSeveral) {
  const FilterProgram allows = {answer(SECCOMP_RET_ALLOW)};
  const FilterProgram refuses = {answer(kErrno)};
  const FilterProgram kills = {answer(SECCOMP_RET_KILL_PROCESS)};
  EXPECT_EQ(judge({allows, refuses, allows}, 1), fails(EPERM));
  EXPECT_EQ(judge({refuses, kills}, 1), kKilled);
}

TEST(SeccompFilter, AnUnknownArgumentIsTheWorst) {
  const FilterProgram program = {load_low(0), jump(BPF_JEQ, 2, 0, 1),
                                 answer(SECCOMP_RET_ALLOW),
                                 answer(SECCOMP_RET_KILL_PROCESS)};
  EXPECT_EQ(judge({program}, SYS_write), kKilled);
  EXPECT_EQ(judge({program}, SYS_write, {{{2, 0}}}), kAllowed);
  EXPECT_EQ(judge({program}, SYS_write, {{{3, 0}}}), kKilled);
}

TEST(SeccompFilter, AMaskOnFlags) {
  const FilterProgram program = {load_low(0), compute(BPF_AND, 0x7e020000),
                                 jump(BPF_JEQ, 0, 0, 1),
                                 answer(SECCOMP_RET_ALLOW), answer(kErrno)};
  EXPECT_EQ(judge({program}, SYS_clone, {{{0x3d0f00, 0}}}), kAllowed);
  EXPECT_EQ(judge({program}, SYS_clone, {{{0x20000000, 0}}}), fails(EPERM));
}

TEST(SeccompFilter, ScratchMemoryAndTheIndexRegister) {
  const FilterProgram program = {load_number(),
                                 {BPF_ST, 0, 0, 3},
                                 {BPF_LD | BPF_IMM, 0, 0, 5},
                                 {BPF_LDX | BPF_MEM, 0, 0, 3},
                                 {BPF_ALU | BPF_ADD | BPF_X, 0, 0, 0},
                                 jump(BPF_JEQ, 12, 0, 1),
                                 answer(SECCOMP_RET_ALLOW),
                                 answer(SECCOMP_RET_KILL_THREAD)};
  EXPECT_EQ(judge({program}, 7), kAllowed);
  EXPECT_EQ(judge({program}, 8), kKilled);
}

TEST(SeccompFilter, WhatTheKernelWouldNotTakeKills) {
  EXPECT_EQ(judge({{}}, 1), kKilled);
  EXPECT_EQ(judge({{load(6), {BPF_RET | BPF_A, 0, 0, 0}}}, 1), kKilled);
  EXPECT_EQ(judge({{load(4096), {BPF_RET | BPF_A, 0, 0, 0}}}, 1), kKilled);
  EXPECT_EQ(judge({{{BPF_ST, 0, 0, 16}, answer(SECCOMP_RET_ALLOW)}}, 1),
            kKilled);
  EXPECT_EQ(judge({{{BPF_JMP | BPF_JA, 0, 0, 0xffffffff}}}, 1), kKilled);
  EXPECT_EQ(judge({{compute(BPF_DIV, 0), {BPF_RET | BPF_A, 0, 0, 0}}}, 1),
            kKilled);
}

// 60 branches: not all paths are followed, and that is no answer.
TEST(SeccompFilter, TooManyWaysKill) {
  FilterProgram program;
  for (int i = 0; i < 60; i++) {
    program.push_back(load_low(0));
    program.push_back(jump(BPF_JSET, 1, 0, 1));
    program.push_back(compute(BPF_ADD, 1));
  }
  program.push_back(answer(SECCOMP_RET_ALLOW));
  EXPECT_EQ(judge({program}, 1), kKilled);
  EXPECT_EQ(judge({program}, 1, {{{1, 0}}}), kAllowed);
}

// Compared with the kernel, by a child that installs the filter.
TEST(SeccompFilter, TheKernelSaysTheSame) {
  FilterProgram program = {load_number(),
                           jump(BPF_JEQ, SYS_getppid, 0, 3),
                           load_low(0),
                           jump(BPF_JGT, 10, 0, 1),
                           answer(SECCOMP_RET_ERRNO | EDOM),
                           answer(SECCOMP_RET_ALLOW)};
  for (const unsigned argument : {3u, 10u, 11u, 4000u}) {
    Pipe pipe;
    const Child child([&] {
      const sock_fprog header{static_cast<unsigned short>(program.size()),
                              program.data()};
      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
      if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &header, 0, 0) != 0) {
        ::_exit(1);
      }
      const long got = ::syscall(SYS_getppid, argument);
      send(pipe.write, got < 0 ? errno : 0);
    });
    const auto kernel = receive<int>(pipe.read);
    ASSERT_TRUE(kernel) << "the filter could not be installed";
    const auto ours = judge({program}, SYS_getppid, {{{argument, 0}}});
    EXPECT_EQ(ours, *kernel == 0 ? kAllowed : fails(*kernel)) << argument;
  }
}

}  // namespace
}  // namespace hangdbg
