#include "tracee/arch/x86_64/registers_x86_64.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace hangdbg {
namespace {

constexpr std::uint64_t kPc = 0x401002;

Registers stopped(long orig_rax, long rax) {
  Registers registers;
  registers.raw.rip = kPc;
  registers.raw.orig_rax = static_cast<unsigned long long>(orig_rax);
  registers.raw.rax = static_cast<unsigned long long>(rax);
  return registers;
}

TEST(ResumePoint, RestartsTheCall) {
  for (const long code : {-512, -513, -514}) {
    const auto resume = resume_point(stopped(SYS_futex, code));
    EXPECT_EQ(resume.pc, Address{kPc - 2}) << code;
    EXPECT_EQ(resume.rax, SYS_futex) << code;
  }
  // Number 0 is read(2).
  EXPECT_EQ(resume_point(stopped(SYS_read, -512)).rax, SYS_read);
}

TEST(ResumePoint, ARestartBlockHasACallOfItsOwn) {
  const auto resume = resume_point(stopped(SYS_clock_nanosleep, -516));
  EXPECT_EQ(resume.pc, Address{kPc - 2});
  EXPECT_EQ(resume.rax, SYS_restart_syscall);
}

TEST(ResumePoint, AFinishedCallKeepsItsResult) {
  for (const long result : {0, 5, -EINTR, -511, -515, -517}) {
    const auto resume = resume_point(stopped(SYS_read, result));
    EXPECT_EQ(resume.pc, Address{kPc}) << result;
    EXPECT_EQ(static_cast<long>(resume.rax), result);
  }
}

TEST(ResumePoint, OutsideACallNothingIsRestarted) {
  for (const long rax : {0, -512, -513, -514, -516}) {
    const auto registers = stopped(-1, rax);
    EXPECT_FALSE(registers.in_syscall());
    const auto resume = resume_point(registers);
    EXPECT_EQ(resume.pc, Address{kPc}) << rax;
    EXPECT_EQ(static_cast<long>(resume.rax), rax);
  }
}

}  // namespace
}  // namespace hangdbg
