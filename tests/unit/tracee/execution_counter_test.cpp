// How often a thread executes an instruction, as the kernel counts it.
#include "tracee/ptrace/execution_counter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace hangdbg {
namespace {

int calls = 0;

[[gnu::noinline]] void called() {
  ++calls;
}

Address of_called() {
  return {reinterpret_cast<std::uint64_t>(&called)};
}

TEST(ExecutionCounter, CountsOneThread) {
  const auto counter = ExecutionCounter::open(::gettid(), of_called());
  if (!counter && counter.error().id == ErrorId::NotPermitted) {
    GTEST_SKIP() << counter.error().text();
  }
  ASSERT_TRUE(counter) << counter.error().text();
  EXPECT_EQ(counter->count(), 0U);
  for (int i = 0; i < 7; ++i) {
    called();
  }
  std::thread(called).join();
  EXPECT_EQ(counter->count(), 7U);
  EXPECT_EQ(calls, 8);
}

TEST(ExecutionCounter, ThreadIsGone) {
  if (const auto here = ExecutionCounter::open(::gettid(), of_called());
      !here) {
    ASSERT_EQ(here.error().id, ErrorId::NotPermitted) << here.error().text();
    GTEST_SKIP() << here.error().text();
  }
  int tid = 0;
  std::thread([&tid] { tid = ::gettid(); }).join();
  const auto counter = ExecutionCounter::open(tid, of_called());
  ASSERT_FALSE(counter);
  EXPECT_EQ(counter.error().id, ErrorId::NoSuchThread);
}

}  // namespace
}  // namespace hangdbg
