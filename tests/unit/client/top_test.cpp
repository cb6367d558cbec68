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

// The thread's loop runs "loader": gathers > work (4, recently 2); the thread
// itself is in main > f (5).
TopData example_of_tasks() {
  TopData data = example();
  data.tasks = true;
  const auto place = static_cast<std::uint32_t>(data.places.size());
  data.places.push_back({.kind = Kind::Thread, .function = "task loader"});
  data.places.push_back(
      {.function = "gathers", .file = "/a.py", .first_line = 20, .line = 21});
  data.places.push_back(
      {.function = "work", .file = "/a.py", .first_line = 30, .line = 31});
  const auto node = static_cast<std::uint32_t>(data.nodes.size());
  data.nodes.push_back({2, place});
  data.nodes.push_back({node, place + 1});
  data.nodes.push_back({node + 1, place + 2, 4});
  data.recent.insert(data.recent.end(), {0, 0, 2});
  return data;
}

TEST(Top, TasksHaveTheirOwnView) {
  const TopTable table =
      top_table(example_of_tasks(), {.view = TopView::Tasks});
  EXPECT_THAT(names(table), ElementsAre("loader"));
  EXPECT_THAT(table.rows[0].numbers, ElementsAre(20, 0.4));
  EXPECT_EQ(table.rows[0].texts[1], "thread 8 (one)");
  EXPECT_EQ(table.rows[0].texts[2], "work (a.py:31)");
  EXPECT_EQ(table.rows[0].tid, 8);
  EXPECT_THAT(top_tasks(example()), IsEmpty());
}

TEST(Top, ATaskHasItsStackAndItsFunctions) {
  const TopData data = example_of_tasks();
  const TopTable table = top_table(
      data,
      {.scope =
           top_table(data, {.view = TopView::Tasks}).rows[0].opens.value()});
  EXPECT_THAT(names(table),
              ElementsAre("at work (a.py:31)", "at gathers (a.py:21)",
                          "work (a.py:30)", "gathers (a.py:20)"));
  EXPECT_EQ(scope_text(data, {.task = 10}), "task loader");
}

TEST(Top, AThreadHasItsTasksFunctionsToo) {
  const TopTable table =
      top_table(example_of_tasks(), {.scope = {.thread = 0}});
  EXPECT_THAT(names(table), testing::Contains("work (a.py:30)"));
}

TEST(Top, TheFifthViewIsThereWithTasks) {
  const TopData data = example_of_tasks();
  TopState state;
  const auto press = [&](TopKey key) {
    return state.key(key, top_table(data, state.choice), 10);
  };
  EXPECT_EQ(press(typed('5')), TopAction::None);
  EXPECT_EQ(state.choice.view, TopView::Functions);
  press({TopKey::Kind::BackTab});
  EXPECT_EQ(state.choice.view, TopView::Processes);
  EXPECT_EQ(press(typed('t')), TopAction::Restart);
  press({TopKey::Kind::Tab});
  EXPECT_EQ(state.choice.view, TopView::Tasks);
  press({TopKey::Kind::Enter});
  EXPECT_EQ(state.choice.view, TopView::Functions);
  EXPECT_EQ(state.choice.scope.task, 10U);
  press({TopKey::Kind::Escape});
  EXPECT_EQ(press(typed('t')), TopAction::Restart);
  EXPECT_EQ(state.choice.view, TopView::Functions);
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
