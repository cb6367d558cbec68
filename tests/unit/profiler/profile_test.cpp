#include "profiler/profile/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hangdbg {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

PythonFrame frame(const char* function, int line, int first_line = 1) {
  PythonFrame frame;
  frame.function = frame.qualname = function;
  frame.file = "a.py";
  frame.line = line;
  frame.first_line = first_line;
  return frame;
}

TEST(Profile, StacksBecomeATree) {
  Profile profile;
  const auto thread = profile.add_thread({.pid = 1, .tid = 2});
  const auto one = profile.stack(
      Profile::kRoot, std::vector{frame("f", 5), frame("main", 9)}, false);
  const auto other = profile.stack(
      Profile::kRoot, std::vector{frame("g", 7), frame("main", 9)}, false);
  profile.add(thread, one, 0, 2);
  profile.add(thread, other, 2, 3);
  EXPECT_THAT(profile.nodes(), SizeIs(4));  // with the root
  EXPECT_THAT(profile.path(one), SizeIs(2));
  EXPECT_EQ(profile.path(one)[0], profile.path(other)[0]);
  EXPECT_EQ(profile.totals()[profile.path(one)[0]], 5U);
  EXPECT_EQ(profile.weight(), 5U);
  EXPECT_THAT(profile.runs(), IsEmpty());
}

TEST(Profile, WholeFunctionsHaveNoLines) {
  Profile profile;
  const auto at = [&](int line) {
    return profile.stack(Profile::kRoot, std::vector{frame("f", line)}, true);
  };
  EXPECT_EQ(at(5), at(6));
}

TEST(Profile, EqualStacksThatFollowEachOtherAreOneRun) {
  Profile profile(/*runs=*/true);
  const auto a = profile.add_thread({.tid = 1});
  const auto b = profile.add_thread({.tid = 2});
  const auto node =
      profile.stack(Profile::kRoot, std::vector{frame("f", 5)}, false);
  for (std::uint64_t at = 0; at < 3; ++at) {
    profile.add(a, node, at, 1);
    profile.add(b, node, at, 1);
  }
  profile.add(a, node, 5, 1);  // after a gap
  ASSERT_THAT(profile.runs(), SizeIs(3));
  EXPECT_EQ(profile.runs()[0].length, 3U);
  EXPECT_EQ(profile.runs()[2].first, 5U);
  EXPECT_TRUE(profile.has_all_runs());
}

TEST(Profile, ARecursionCountsOnce) {
  Profile profile;
  const auto thread = profile.add_thread({});
  const auto node = profile.stack(
      Profile::kRoot,
      std::vector{frame("f", 2), frame("f", 3), frame("main", 9, 8)}, false);
  profile.add(thread, node, 0, 4);
  const auto times = function_times(profile);
  ASSERT_THAT(times, SizeIs(2));
  EXPECT_EQ(times[0].place.function, "f");
  EXPECT_EQ(times[0].own, 4U);
  EXPECT_EQ(times[0].total, 4U);
  EXPECT_EQ(times[1].own, 0U);
  EXPECT_EQ(times[1].total, 4U);
}

// ---- waits

ProfilePlace wait(const char* reason) {
  return {.kind = ProfilePlace::Kind::Wait, .function = reason};
}

TEST(Profile, AReasonThatIsKnownLaterHoldsForTheWholeSleep) {
  Profile profile(/*runs=*/true);
  const auto thread = profile.add_thread({.tid = 1});
  const auto node =
      profile.stack(Profile::kRoot, std::vector{frame("f", 5)}, false);
  const auto call = profile.child(node, wait("waits in futex"));
  const auto lock = profile.child(node, wait("waits for the Lock"));
  profile.add(thread, call, 0, 2);  // a sleep before
  profile.add(thread, call, 2, 3);
  profile.move(thread, call, lock, 2, 3);
  profile.add(thread, lock, 5, 1);
  EXPECT_EQ(profile.nodes()[call].own, 2U);
  EXPECT_EQ(profile.nodes()[lock].own, 4U);
  EXPECT_EQ(profile.weight(), 6U);
  ASSERT_THAT(profile.runs(), SizeIs(2));
  EXPECT_EQ(profile.runs()[0].length, 2U);
  EXPECT_EQ(profile.runs()[1].node, lock);
  EXPECT_EQ(profile.runs()[1].first, 2U);
  EXPECT_EQ(profile.runs()[1].length, 4U);
}

TEST(Profile, WaitsAreTheirFunctionsOwnTime) {
  Profile profile;
  const auto thread = profile.add_thread({.tid = 1});
  const auto node = profile.stack(
      Profile::kRoot, std::vector{frame("f", 5), frame("main", 9)}, false);
  profile.add(thread, node, 0, 1);
  profile.add(thread, profile.child(node, wait("a")), 1, 2);
  profile.add(thread, profile.child(node, wait("b")), 3, 4);
  const auto times = function_times(profile);
  ASSERT_THAT(times, SizeIs(2));
  EXPECT_EQ(times[0].place.function, "f");
  EXPECT_EQ(times[0].own, 7U);
  EXPECT_EQ(times[0].total, 7U);
  const auto waits = wait_times(profile);
  ASSERT_THAT(waits, SizeIs(2));
  EXPECT_EQ(waits[0].reason, "b");
  EXPECT_EQ(waits[0].samples, 4U);
}

TEST(Profile, EachNodeHasItsProcesses) {
  Profile profile(/*runs=*/false, /*processes=*/true);
  const auto one = profile.add_thread({.pid = 1, .tid = 1});
  const auto other = profile.add_thread({.pid = 2, .tid = 2});
  const auto f = profile.stack(
      Profile::kRoot, std::vector{frame("f", 5), frame("main", 9)}, false);
  const auto g = profile.stack(
      Profile::kRoot, std::vector{frame("g", 7), frame("main", 9)}, false);
  const auto reason = profile.child(g, wait("a"));
  profile.add(one, f, 0, 1);
  profile.add(other, g, 0, 1);
  profile.move(other, g, reason, 0, 1);
  const auto processes = profile.processes();
  EXPECT_THAT(processes[f], testing::ElementsAre(1));
  EXPECT_THAT(processes[reason], testing::ElementsAre(2));
  EXPECT_THAT(processes[profile.path(f)[0]], testing::ElementsAre(1, 2));
  EXPECT_THAT(Profile().processes(), testing::Each(IsEmpty()));
}

}  // namespace
}  // namespace hangdbg
