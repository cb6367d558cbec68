#include "injector/injection_lock.h"

#include <gtest/gtest.h>

#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

// Another hangdbg, in the middle of its injection into `pid`.
Child holder_of(int pid, const Pipe& pipe) {
  return Child([&] {
    const auto lock = lock_injections(pid, patience());
    send(pipe.write, lock.has_value());
    ::pause();
  });
}

TEST(InjectionLock, OneProcessAtATime) {
  Pipe pipe;
  const Child target([] { ::pause(); });
  Child other = holder_of(target.pid(), pipe);
  ASSERT_EQ(receive<bool>(pipe.read), true);

  const auto refused =
      lock_injections(target.pid(), Deadline::in(milliseconds(20)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, ErrorId::TimedOut);

  other.end();
  const auto lock = lock_injections(target.pid(), patience());
  EXPECT_TRUE(lock) << lock.error().text();
}

TEST(InjectionLock, TheNextOneGetsItWhenTheHolderDies) {
  Pipe pipe;
  const Child target([] { ::pause(); });
  const Child other = holder_of(target.pid(), pipe);
  ASSERT_EQ(receive<bool>(pipe.read), true);

  Pipe got;
  const Child waiting([&] {
    send(got.write, ::getpid());
    const auto lock = lock_injections(target.pid(), patience());
    send(got.write, lock ? 1 : 0);
  });
  ASSERT_EQ(receive<int>(got.read), waiting.pid());
  EXPECT_FALSE(receive<int>(got.read, Deadline::in(milliseconds(20))));
  ::kill(other.pid(), SIGKILL);
  EXPECT_EQ(receive<int>(got.read), 1);
}

TEST(InjectionLock, IsOfOneTargetOnly) {
  Pipe pipe;
  const Child target([] { ::pause(); });
  const Child bystander([] { ::pause(); });
  const Child other = holder_of(target.pid(), pipe);
  ASSERT_EQ(receive<bool>(pipe.read), true);
  EXPECT_TRUE(lock_injections(bystander.pid(), Deadline::in(milliseconds(20))));
}

TEST(InjectionLock, IsReleasedWithItsDescriptor) {
  const Child target([] { ::pause(); });
  const auto now = Deadline::in(milliseconds(0));
  auto first = lock_injections(target.pid(), now);
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_FALSE(lock_injections(target.pid(), now));
  first->reset();
  EXPECT_TRUE(lock_injections(target.pid(), now));
}

TEST(InjectionLock, OfNobody) {
  const auto lock = lock_injections(dead_pid(), patience());
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().id, ErrorId::NoSuchProcess);
}

}  // namespace
}  // namespace hangdbg
