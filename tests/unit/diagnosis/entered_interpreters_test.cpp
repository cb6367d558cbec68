#include "diagnosis/snapshot/entered_interpreters.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/support/made_up.h"

namespace hangdbg {
namespace {

ThreadSnapshot state_of(int tid,
                        std::int64_t interpreter,
                        std::vector<PythonFrame> frames) {
  ThreadSnapshot made{.id = {1, tid}, .python = PythonThread()};
  made.python->interpreter = interpreter;
  made.stack.frames = std::move(frames);
  return made;
}

std::vector<std::string> functions(const ThreadSnapshot& thread) {
  std::vector<std::string> names;
  for (const PythonFrame& one : thread.frames()) {
    names.push_back(one.function);
  }
  return names;
}

TEST(EnteredInterpreters, AreOfOneThread) {
  std::vector<ThreadSnapshot> threads = {
      state_of(1, 0, {frame("a.py", "main")}),
      state_of(2, 3, {frame("b.py", "wait")}),
      state_of(2, 0, {frame("c.py", "call"), frame("c.py", "run")})};
  join_interpreters(threads);
  ASSERT_EQ(threads.size(), 2U);
  const auto& second = threads[threads[0].id.tid == 2 ? 0 : 1];
  EXPECT_EQ(functions(second),
            (std::vector<std::string>{"wait", "call", "run"}));
  EXPECT_EQ(second.python->interpreter, 3);
  EXPECT_EQ(named_state(second).interpreter, 0);
}

TEST(EnteredInterpreters, AStateAtRestIsNoThread) {
  std::vector<ThreadSnapshot> threads = {
      state_of(1, 1, {}), state_of(1, 0, {frame("a.py", "main")})};
  join_interpreters(threads);
  ASSERT_EQ(threads.size(), 1U);
  EXPECT_EQ(functions(threads[0]), std::vector<std::string>{"main"});
  EXPECT_EQ(named_state(threads[0]).interpreter, 0);
}

}  // namespace
}  // namespace hangdbg
