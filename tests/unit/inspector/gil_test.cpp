#include "inspector/cpython/runtime/gil.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "tests/unit/support/cpu_time.h"

namespace hangdbg {
namespace {

constexpr Address kRuntime{0x100000};
constexpr Address kInterpreter{0x200000};
constexpr Address kState{0x300000};
constexpr Address kPthread{0x400000};
constexpr int kTid = 4711;

// One interpreter of the given version, with threads that run no Python.
class FakePython {
 public:
  explicit FakePython(int minor) {
    python.version = {3, minor, {}};
    python.layout = *generated_layout(minor);
    python.runtime = kRuntime;
    const CPythonLayout& at = python.layout;
    put(kRuntime + at.runtime_interpreters_head, kInterpreter.value);
    if (minor >= 7) {
      put(kRuntime + at.runtime_initialized, 1, 4);
      put(kRuntime + at.runtime_interpreters_main, kInterpreter.value);
    }
    put(kInterpreter + at.interpreter_threads_head, kState.value);
    add_thread(kState, Address{});
  }

  void add_thread(Address state, Address next) {
    const CPythonLayout& at = python.layout;
    put(state + at.thread_interpreter, kInterpreter.value);
    put(state + at.thread_next, next.value);
    put(state + at.thread_ident, kPthread.value);
    if (at.thread_native_id != CPythonLayout::kAbsent) {
      put(state + at.thread_native_id, kTid);
    }
  }

  void put(Address at, std::uint64_t value, std::size_t size = 8) {
    auto& page = pages_[at.value & ~0xfffffULL];
    page.resize(0x10000);
    std::memcpy(page.data() + (at.value & 0xfffff), &value, size);
  }

  FakeMemory memory() const {
    FakeMemory memory;
    for (const auto& [at, bytes] : pages_) {
      memory.add(Address{at}, bytes);
    }
    return memory;
  }

  PythonRuntime python;

 private:
  std::map<std::uint64_t, std::vector<std::byte>> pages_;
};

const TaskIds kTasks({kTid});

TEST(Gil, HeldNamesTheThread) {
  FakePython fake(11);
  const Address gil = kRuntime + fake.python.layout.runtime_gil;
  fake.put(gil + fake.python.layout.gil_locked, 1, 4);
  fake.put(gil + fake.python.layout.gil_last_holder, kState.value);
  const auto state = read_gil(fake.memory(), fake.python, kTasks);
  ASSERT_TRUE(state) << state.error().text();
  EXPECT_TRUE(state->locked);
  EXPECT_EQ(state->holder, kState);
  EXPECT_EQ(state->holder_tid, kTid);
  EXPECT_EQ(state->locked_word, gil + fake.python.layout.gil_locked);
}

TEST(Gil, FreeHasNoHolderThoughTheLastOneIsKept) {
  FakePython fake(11);
  fake.put(kRuntime + fake.python.layout.runtime_gil +
               fake.python.layout.gil_last_holder,
           kState.value);
  const auto state = read_gil(fake.memory(), fake.python, kTasks);
  ASSERT_TRUE(state);
  EXPECT_FALSE(state->locked);
  EXPECT_FALSE(state->holder);
}

TEST(Gil, NotYetMade) {
  FakePython fake(11);
  fake.put(
      kRuntime + fake.python.layout.runtime_gil + fake.python.layout.gil_locked,
      0xffff'ffff, 4);
  const auto state = read_gil(fake.memory(), fake.python, kTasks);
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().id, ErrorId::NotInitialized);
}

TEST(Gil, OfWildPointersIsUnreadable) {
  FakePython fake(12);
  for (const std::uint64_t wild :
       {std::uint64_t{0}, std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    fake.put(kInterpreter + fake.python.layout.interpreter_gil, wild);
    const auto state = read_gil(fake.memory(), fake.python, kTasks);
    ASSERT_FALSE(state);
    EXPECT_EQ(state.error().id, ErrorId::Unreadable);
  }
}

TEST(Gil, OfPython36IsTheCurrentThreads) {
  FakePython fake(6);
  fake.put(kPthread + 0x2d0, kTid, 4);
  constexpr Address kCurrent = kRuntime + 0x100;
  EXPECT_EQ(read_gil(fake.memory(), fake.python, kTasks).error().id,
            ErrorId::Unreadable);  // it is recorded nowhere

  fake.python.current_thread = kCurrent;
  fake.put(kCurrent, kState.value);
  const auto held = read_gil(fake.memory(), fake.python, kTasks);
  ASSERT_TRUE(held) << held.error().text();
  EXPECT_TRUE(held->locked);
  EXPECT_EQ(held->holder, kState);
  EXPECT_EQ(held->holder_tid, kTid);

  fake.put(kCurrent, 0);
  const auto free = read_gil(fake.memory(), fake.python, kTasks);
  ASSERT_TRUE(free) << free.error().text();
  EXPECT_FALSE(free->locked);

  fake.put(kCurrent, std::uint64_t{1} << 60);
  EXPECT_EQ(read_gil(fake.memory(), fake.python, kTasks).error().id,
            ErrorId::Unreadable);
}

TEST(PythonThreads, TidFromGlibcsAndMuslsThreadStruct) {
  for (const std::uint64_t offset : {0x2d0, 0x30}) {
    FakePython fake(8);
    fake.put(kPthread + offset, kTid, 4);
    const auto threads = python_threads(fake.memory(), fake.python, kTasks);
    ASSERT_TRUE(threads) << threads.error().text();
    ASSERT_EQ(threads->size(), 1);
    EXPECT_EQ(threads->front().tid, kTid);
  }
}

TEST(PythonThreads, ATidThatIsNobodysIsNotTold) {
  FakePython fake(11);
  const auto threads =
      python_threads(fake.memory(), fake.python, TaskIds({1, 2}));
  ASSERT_TRUE(threads);
  EXPECT_FALSE(threads->front().tid);
}

TEST(PythonThreads, InALoopComeToAnEnd) {
  FakePython fake(11);
  fake.add_thread(kState, kState);
  const CpuTime cpu;
  const auto threads = python_threads(fake.memory(), fake.python, kTasks);
  ASSERT_FALSE(threads);
  EXPECT_EQ(threads.error().id, ErrorId::Unreadable);
  EXPECT_LT(cpu.spent(), std::chrono::seconds(30));
}

TEST(PythonThreads, InterpretersInALoopComeToAnEnd) {
  FakePython fake(11);
  fake.put(kInterpreter + fake.python.layout.interpreter_threads_head, 0);
  fake.put(kInterpreter + fake.python.layout.interpreter_next,
           kInterpreter.value);
  const auto threads = python_threads(fake.memory(), fake.python, kTasks);
  ASSERT_FALSE(threads);
  EXPECT_EQ(threads.error().id, ErrorId::Unreadable);
}

TEST(PythonThreads, ThatDoNotLeadBackToTheirInterpreterAreRefused) {
  FakePython fake(11);
  fake.put(kState + fake.python.layout.thread_interpreter, kRuntime.value);
  EXPECT_FALSE(python_threads(fake.memory(), fake.python, kTasks));
}

TEST(PythonThreads, WithAWildFrameAreListedWithoutAName) {
  FakePython fake(8);
  fake.put(kState + fake.python.layout.thread_frame, 0xdead'beef'0000);
  const auto threads = python_threads(fake.memory(), fake.python, kTasks);
  ASSERT_TRUE(threads);
  ASSERT_EQ(threads->size(), 1);
  EXPECT_EQ(threads->front().function, "");
}

TEST(PythonRuntime, ReadyOnlyBetweenStartAndEnd) {
  FakePython fake(11);
  EXPECT_TRUE(check_ready(fake.memory(), fake.python));
  fake.put(kRuntime + fake.python.layout.runtime_initialized, 0, 4);
  EXPECT_EQ(check_ready(fake.memory(), fake.python).error().id,
            ErrorId::NotInitialized);
  fake.put(kRuntime + fake.python.layout.runtime_finalizing, kState.value);
  EXPECT_EQ(check_ready(fake.memory(), fake.python).error().id,
            ErrorId::Finalizing);
}

}  // namespace
}  // namespace hangdbg
