// The list of system calls that an injection makes in the target, and what a
// filter's answers to it mean.
#include "injector/checks/target_calls.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cerrno>

#include "injector/checks/filter_probe.h"

namespace hangdbg {
namespace {

constexpr CallVerdict kKills{CallOutcome::Kills, 0};

// What a filter permits that has `verdict` for this call, and allows the rest.
Result<AllowedCalls> without(long number,
                             CallVerdict verdict,
                             Libc libc = Libc::Glibc,
                             CallsFor what = CallsFor::OwnThreads) {
  std::vector<CallVerdict> verdicts(target_calls().size());
  for (std::size_t i = 0; i < verdicts.size(); i++) {
    if (target_calls()[i].number == number) {
      verdicts[i] = verdict;
    }
  }
  return judge_calls(verdicts, {libc}, what);
}

constexpr CallVerdict fails(int number) {
  return {CallOutcome::Fails, number};
}

TEST(TargetCalls, WithoutSocketsTherePipes) {
  for (const long number : {SYS_socketpair, SYS_shutdown}) {
    const auto allowed = without(number, kKills);
    ASSERT_TRUE(allowed) << allowed.error().text();
    EXPECT_FALSE(allowed->sockets);
    EXPECT_TRUE(allowed->sched_yield);
  }
}

TEST(TargetCalls, WhatMayFailMustNotKill) {
  EXPECT_TRUE(without(SYS_rseq, fails(EPERM)));
  const auto killed = without(SYS_rseq, kKills);
  ASSERT_FALSE(killed);
  EXPECT_EQ(killed.error().id, ErrorId::SeccompForbids);
  EXPECT_NE(killed.error().message.find("rseq"), std::string::npos)
      << killed.error().message;
}

TEST(TargetCalls, WhatIsNeededIsNamed) {
  for (const CallVerdict& verdict : {kKills, fails(EPERM)}) {
    const auto refused = without(SYS_futex, verdict);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("futex"), std::string::npos);
  }
}

TEST(TargetCalls, AThreadByCloneOrByClone3) {
  EXPECT_TRUE(without(SYS_clone3, fails(ENOSYS)));
  EXPECT_FALSE(without(SYS_clone3, fails(EPERM)));
  EXPECT_FALSE(without(SYS_clone3, kKills));
  EXPECT_TRUE(without(SYS_clone3, kKills, Libc::GlibcBefore234));
  EXPECT_TRUE(without(SYS_clone, kKills));
  EXPECT_FALSE(without(SYS_clone, kKills, Libc::GlibcBefore234));
  EXPECT_FALSE(without(SYS_clone, kKills, Libc::Unknown));
}

// Its threads may live with that filter as long as nobody else wants a lock.
TEST(TargetCalls, WithoutAGilLocksYield) {
  for (const CallsFor what :
       {CallsFor::OwnThreads, CallsFor::SuspendedThread}) {
    std::vector<CallVerdict> verdicts(target_calls().size());
    for (std::size_t i = 0; i < verdicts.size(); i++) {
      if (target_calls()[i].number == SYS_sched_yield) {
        verdicts[i] = kKills;
      }
    }
    EXPECT_TRUE(judge_calls(verdicts, {Libc::Glibc, false}, what));
    const auto refused = judge_calls(verdicts, {Libc::Glibc, true}, what);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("sched_yield"), std::string::npos);
  }
}

// Nothing waits for a supervisor because of us.
TEST(TargetCalls, WhatIsAskedIsAsBadAsWhatKills) {
  constexpr CallVerdict kAsks{CallOutcome::Asks, 0};
  for (const long number : {SYS_futex, SYS_rseq}) {
    const auto refused = without(number, kAsks);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("supervisor"), std::string::npos)
        << refused.error().message;
  }
  const auto allowed = without(SYS_socketpair, kAsks);
  ASSERT_TRUE(allowed) << allowed.error().text();
  EXPECT_FALSE(allowed->sockets);
}

TEST(TargetCalls, ASuspendedThreadStartsNone) {
  for (const long number : {SYS_clone, SYS_rseq, SYS_exit}) {
    EXPECT_FALSE(without(number, kKills, Libc::Unknown));
    EXPECT_TRUE(
        without(number, kKills, Libc::Unknown, CallsFor::SuspendedThread));
  }
  EXPECT_FALSE(
      without(SYS_poll, kKills, Libc::Glibc, CallsFor::SuspendedThread));
}

TEST(TargetCalls, EachLibcHasItsOwn) {
  EXPECT_TRUE(without(SYS_membarrier, kKills));
  EXPECT_FALSE(without(SYS_membarrier, kKills, Libc::Musl));
  EXPECT_FALSE(without(SYS_membarrier, kKills, Libc::Unknown));
  EXPECT_TRUE(without(SYS_rseq, kKills, Libc::Musl));
  EXPECT_FALSE(without(SYS_clone, kKills, Libc::Musl));
}

// Where these tests run without a filter of their own.
TEST(TargetCalls, AnUnfilteredChildMayDoAll) {
  const auto& tried = tried_calls();
  ASSERT_EQ(tried.size(), target_calls().size());
  for (std::size_t i = 0; i < tried.size(); i++) {
    const TargetCall& call = target_calls()[i];
    if (call.number == SYS_rseq || call.number == SYS_clone3) {
      continue;  // a kernel may lack them
    }
    EXPECT_TRUE(tried[i].allowed())
        << call.name << ": " << tried[i].errno_value;
  }
}

}  // namespace
}  // namespace hangdbg
