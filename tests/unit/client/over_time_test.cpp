#include "client/views/record/over_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hangdbg {
namespace {

using testing::HasSubstr;

// Three ranks: one sleeps all the time, one stays at one line, one moves; and a
// thread beside main, which does not count.
TEST(OverTime, WhoMovesAndWhoDoesNot) {
  Profile profile(/*runs=*/true, /*processes=*/true);
  const auto main = profile.child(Profile::kRoot, {.function = "main"});
  const auto wait = profile.child(main, {.function = "wait", .line = 7});
  const auto loop = profile.child(main, {.function = "loop", .line = 9});
  for (const int pid : {10, 11, 12, 13}) {
    profile.add_thread({.pid = pid, .tid = pid});
  }
  const auto beside = profile.add_thread({.pid = 10, .tid = 99});
  profile.add(0, wait, 0, 4);
  profile.add(1, loop, 0, 4);
  profile.add(2, loop, 0, 1);
  profile.add(2, wait, 1, 3);
  profile.add(beside, loop, 0, 4);
  const RecordingState state;
  const RecordedProfile recorded{.profile = profile,
                                 .state = state,
                                 .ranks = {{10, 0}, {11, 1}, {12, 2}, {13, 3}}};
  const SchedStats then{.times = 5, .nanoseconds = 7};
  const SchedStats later{.times = 6, .nanoseconds = 9};
  const std::map<int, RankRuns> runs = {
      {10, {then, then}}, {11, {then, later}}, {12, {then, later}}};
  const auto ranks = ranks_over_time(recorded, runs);
  ASSERT_EQ(ranks.size(), 4U);
  EXPECT_EQ(ranks[0].motion, RankMotion::DidNotRun);
  EXPECT_EQ(ranks[1].motion, RankMotion::OnePlace);
  EXPECT_EQ(ranks[2].motion, RankMotion::Moved);
  EXPECT_EQ(ranks[3].motion, RankMotion::Unseen);
  const std::string text =
      over_time_text(recorded, runs, Palette(ColourChoice::Never, stdout));
  EXPECT_THAT(text, HasSubstr("rank 0 did not run: wait (:7)\n"));
  EXPECT_THAT(text, HasSubstr("rank 1 ran, and was at one line in all samples: "
                              "loop (:9)\n"));
  EXPECT_THAT(text, HasSubstr("rank 2 moved\n"));
  EXPECT_THAT(text, HasSubstr("rank 3: no stack was seen\n"));
  EXPECT_THAT(text, HasSubstr(" 25-100 %  1,2            loop (:9)\n"));
  EXPECT_THAT(text, HasSubstr(" 75-100 %  0,2            wait (:7)\n"));
}

}  // namespace
}  // namespace hangdbg
