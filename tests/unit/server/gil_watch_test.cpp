// GilWatch on an interpreter that this process makes up in its own memory.
#include "server/session/gil_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace hangdbg {
namespace {

using Verdict = GilWatch::Verdict;

// One thread, ours, in one frame whose code has no name.
class FakePython : public testing::Test {
 protected:
  FakePython()
      : target_{PythonProcess{.pid = ::getpid(),
                              .memory = LiveMemory(::getpid())}} {
    target_.python.version = {3, 10, {}};
    target_.python.layout = *generated_layout(10);
    target_.python.runtime = address(runtime_);
    put(runtime_, at().runtime_initialized, 1);
    put(runtime_, at().runtime_interpreters_head, address(interpreter_).value);
    put(runtime_, at().runtime_interpreters_main, address(interpreter_).value);
    put(interpreter_, at().interpreter_threads_head, address(state_).value);
    put(state_, at().thread_interpreter, address(interpreter_).value);
    put(state_, at().thread_ident, address(pthread_).value);
    put(state_, at().thread_frame, address(frame_).value);
    put(pthread_, 0x2d0, static_cast<std::uint64_t>(::getpid()));
  }

  const CPythonLayout& at() const { return target_.python.layout; }

  static Address address(const std::vector<std::byte>& block) {
    return Address{reinterpret_cast<std::uintptr_t>(block.data())};
  }
  static void put(std::vector<std::byte>& block,
                  std::size_t offset,
                  std::uint64_t value,
                  std::size_t size = 8) {
    ASSERT_LE(offset + size, block.size());
    std::memcpy(block.data() + offset, &value, size);
  }

  void hold() {
    put(runtime_, at().runtime_gil + at().gil_last_holder,
        address(state_).value);
    put(runtime_, at().runtime_gil + at().gil_locked, 1, 4);
  }
  void release() { put(runtime_, at().runtime_gil + at().gil_locked, 0, 4); }
  void step(int instruction) {
    put(frame_, at().frame_position, static_cast<std::uint64_t>(instruction),
        at().frame_position_size);
  }

  std::vector<std::byte> runtime_ = std::vector<std::byte>(0x8000);
  std::vector<std::byte> interpreter_ = runtime_;
  std::vector<std::byte> state_ = runtime_;
  std::vector<std::byte> pthread_ = runtime_;
  std::vector<std::byte> frame_ = runtime_;
  AttachTarget target_;
};

TEST_F(FakePython, FreeGil) {
  GilWatch watch(target_);
  EXPECT_EQ(watch.look(), Verdict::Free);
  EXPECT_EQ(watch.look(), Verdict::Free);
  EXPECT_EQ(watch.holder(), "another thread");
}

TEST_F(FakePython, AHolderThatStands) {
  GilWatch watch(target_);
  hold();
  EXPECT_EQ(watch.look(), Verdict::Unknown);
  EXPECT_EQ(watch.look(), Verdict::Stands);
  EXPECT_EQ(watch.look(), Verdict::Stands);
  EXPECT_EQ(watch.holder(), "thread " + std::to_string(::getpid()));
}

TEST_F(FakePython, AHolderThatMoves) {
  GilWatch watch(target_);
  hold();
  EXPECT_EQ(watch.look(), Verdict::Unknown);
  step(1);
  EXPECT_EQ(watch.look(), Verdict::Moves);
  EXPECT_EQ(watch.look(), Verdict::Stands);
  step(2);
  EXPECT_EQ(watch.look(), Verdict::Moves);
}

// The next holder is seen for the first time.
TEST_F(FakePython, ReleasedAndTakenAgain) {
  GilWatch watch(target_);
  hold();
  watch.look();
  EXPECT_EQ(watch.look(), Verdict::Stands);
  release();
  EXPECT_EQ(watch.look(), Verdict::Free);
  hold();
  EXPECT_EQ(watch.look(), Verdict::Unknown);
  EXPECT_EQ(watch.look(), Verdict::Stands);
}

TEST_F(FakePython, AHolderThatPythonDoesNotListIsUnknown) {
  GilWatch watch(target_);
  hold();
  put(runtime_, at().runtime_gil + at().gil_last_holder, 0x1000);
  EXPECT_EQ(watch.look(), Verdict::Unknown);
  EXPECT_EQ(watch.look(), Verdict::Unknown);
  EXPECT_EQ(watch.holder(), "another thread");
}

TEST_F(FakePython, UnreadableIsUnknown) {
  GilWatch watch(target_);
  target_.python.runtime = Address{0x1000};
  EXPECT_EQ(watch.look(), Verdict::Unknown);
}

}  // namespace
}  // namespace hangdbg
