#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/views/dump/picture_text.h"
#include "client/views/top/frame.h"
#include "client/views/top/state.h"

namespace hangdbg {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = ProfilePlace::Kind;

// One process of two threads: one in main > f (5) and main > g (3, recently
// 1), the other in main > f > f (2).
TopData example() {
  TopData data;
  data.rate = 10;
  data.window = std::chrono::seconds(1);
  data.pids = {7};
  data.places = {
      {},
      {.kind = Kind::Process, .function = "process 7"},
      {.kind = Kind::Thread, .function = "thread 8 (one)"},
      {.kind = Kind::Thread, .function = "thread 9"},
      {.function = "main", .file = "/a.py", .first_line = 1, .line = 2},
      {.function = "f", .file = "/a.py", .first_line = 5, .line = 6},
      {.function = "g", .file = "/a.py", .first_line = 9, .line = 9},
  };
  data.nodes = {{},        {0, 1},    {1, 2}, {1, 3}, {2, 4},
                {4, 5, 5}, {4, 6, 3}, {3, 4}, {7, 5}, {8, 5, 2}};
  data.recent = {0, 0, 0, 0, 0, 5, 1, 0, 0, 2};
  data.threads = {{7, 8, "process 7", "one"}, {7, 9, "process 7", ""}};
  data.tallies = {{.samples = 20, .ran = 8, .held_gil = 4, .node = 5},
                  {.samples = 20, .ran = 2, .node = 9, .runs = true}};
  data.recent_tallies = {
      {.samples = 10, .ran = 6, .held_gil = 4, .cpu_ns = 500'000'000},
      {.samples = 10, .ran = 2}};
  return data;
}

std::vector<std::string> names(const TopTable& table) {
  std::vector<std::string> names;
  for (const TopRow& row : table.rows) {
    names.push_back(row.mark + row.texts[0]);
  }
  return names;
}

TopKey typed(char character) {
  return {.character = character};
}

TEST(Top, ARecursionCountsOnce) {
  const TopTable table = top_table(example(), {});
  EXPECT_THAT(names(table),
              ElementsAre("f (a.py:5)", "g (a.py:9)", "main (a.py:1)"));
  EXPECT_THAT(table.rows[0].numbers, ElementsAre(70, 70, 0.7, 0.7));
  EXPECT_THAT(table.rows[1].numbers, ElementsAre(10, 10, 0.3, 0.3));
  EXPECT_THAT(table.rows[2].numbers, ElementsAre(0, 80, 0, 1));
}

TEST(Top, AThreadHasItsStackAndItsFunctions) {
  const TopTable table = top_table(example(), {.scope = {.thread = 1}});
  EXPECT_THAT(names(table),
              ElementsAre("at f (a.py:6)", "at f (a.py:6)", "at main (a.py:2)",
                          "f (a.py:5)", "main (a.py:1)"));
  EXPECT_EQ(table.rows[3].numbers[0], 20);
}

TEST(Top, AFunctionHasCallersLinesAndCallees) {
  const TopData data = example();
  TopChoice choice;
  choice.scope.function = data.places[4];
  choice.scope.function->line = 0;
  EXPECT_THAT(
      names(top_table(data, choice)),
      ElementsAre("   main (a.py:2)", "-> f (a.py:5)", "-> g (a.py:9)"));
  choice.scope.function = data.places[5];
  choice.scope.function->line = 0;
  EXPECT_THAT(names(top_table(data, choice)),
              ElementsAre("<- main (a.py:1)", "   f (a.py:6)"));
}

TEST(Top, SharesOfThreads) {
  const TopTable table = top_table(example(), {.view = TopView::Threads});
  EXPECT_THAT(names(table), ElementsAre("8 one", "9"));
  EXPECT_THAT(table.rows[0].numbers, ElementsAre(50, 40, 60));
  EXPECT_EQ(table.rows[1].texts[1], "runs");
}

TEST(Top, OneThatHasEndedIsNotShown) {
  TopData data = example();
  data.tallies[0].ended = true;
  EXPECT_THAT(top_threads(data), SizeIs(1));
  data.pids = {};
  EXPECT_THAT(top_threads(data), IsEmpty());
}

TEST(Top, EnterAndEscape) {
  const TopData data = example();
  TopState state;
  const auto press = [&](TopKey key) {
    return state.key(key, top_table(data, state.choice), 10);
  };
  press(typed('3'));
  press({TopKey::Kind::Down});
  press({TopKey::Kind::Enter});
  EXPECT_EQ(state.choice.scope.thread, 1U);
  EXPECT_EQ(state.choice.view, TopView::Functions);
  press({TopKey::Kind::Enter});
  EXPECT_EQ(state.choice.scope.function->function, "f");
  press({TopKey::Kind::Escape});
  press({TopKey::Kind::Escape});
  EXPECT_EQ(state.choice.view, TopView::Threads);
  EXPECT_EQ(state.cursor, 1U);
  EXPECT_EQ(press(typed('q')), TopAction::Quit);
}

TEST(Top, WhatIsSearchedForIsNoCommand) {
  const TopData data = example();
  TopState state;
  for (const char c : std::string_view("/q")) {
    EXPECT_EQ(state.key(typed(c), top_table(data, state.choice), 10),
              TopAction::None);
  }
  EXPECT_THAT(top_table(data, state.choice).rows, IsEmpty());
}

TEST(Top, AFrameFits) {
  const TopData data = example();
  TopState state;
  state.cursor = 99;
  for (const TopSize size : {TopSize{24, 80}, TopSize{6, 20}, TopSize{2, 1}}) {
    for (const bool help : {false, true}) {
      state.help = help;
      const auto frame = top_frame(data, top_table(data, state.choice),
                                   "process 7", state, size);
      EXPECT_THAT(frame, SizeIs(size.lines));
      std::vector<std::size_t> wide;
      for (const TopLine& line : frame) {
        std::string text;
        for (const TopSpan& span : line) {
          text += span.text;
        }
        // One column wide, though columns() takes it for two.
        for (auto at = text.find("…"); at != text.npos; at = text.find("…")) {
          text.replace(at, 3, ".");
        }
        wide.push_back(columns(text));
      }
      EXPECT_THAT(wide, Each(testing::Le(size.columns)));
    }
  }
  EXPECT_EQ(state.cursor, 2U);
}

}  // namespace
}  // namespace hangdbg
