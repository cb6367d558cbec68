// What is compared in two reports, and what counts as equal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/report/archive.h"
#include "client/views/diff/comparison.h"
#include "client/views/diff/facts.h"

namespace hangdbg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Side parsed(std::string_view text) {
  auto side = parse_side(text);
  EXPECT_TRUE(side) << side.error().text();
  return side ? *std::move(side) : Side();
}

// A report of process 7 that contains `parts` as JSON.
std::string report_with(std::string_view parts) {
  return R"({"format":"hangdbg-report","made":"x","hangdbg":"1","machine":
    {"host":"h","kernel":"Linux 6","arch":"x","system":"Debian","cpus":2},
    "job":null,"processes":[{"pid":7,"rank":null}],"parts":[)" +
         std::string(parts) + R"(],"missing":[]})";
}

reports::DumpedFrame at(std::string function,
                        std::string file,
                        std::int64_t line) {
  return {
      .qualname = std::move(function), .file = std::move(file), .line = line};
}

reports::DumpedThread thread(std::string name,
                             std::vector<reports::DumpedFrame> frames,
                             std::int64_t tid = 9) {
  return {.tid = tid, .name = std::move(name), .frames = std::move(frames)};
}

TEST(Diff, NumbersAreNotTold) {
  EXPECT_EQ(without_numbers("process 79655 at 0x7f3a, libc6 2.36"),
            "process N at N, libc6 N.N");
  EXPECT_EQ(without_numbers(""), "");
}

TEST(Diff, ThreadsPartAtTheFirstOtherFrame) {
  const reports::DumpedProcess a{
      .pid = 1,
      .threads = {thread(
          "MainThread",
          {at("all_reduce", "/x/dist.py", 5), at("train", "/x/t.py", 10)}, 1)}};
  const reports::DumpedProcess b{
      .pid = 2,
      .threads = {
          thread("MainThread",
                 {at("FileBaton.wait", "/x/baton.py", 42),
                  at("build", "/x/b.py", 1), at("train", "/x/t.py", 10)},
                 2)}};
  const auto found = compare_stacks(a, b);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].common->qualname, "train");
  ASSERT_EQ(found[0].a->size(), 1U);
  EXPECT_EQ(found[0].a->front().qualname, "all_reduce");
  ASSERT_EQ(found[0].b->size(), 2U);
  EXPECT_EQ(found[0].b->front().qualname, "FileBaton.wait");
  EXPECT_TRUE(compare_stacks(a, a).empty());
}

TEST(Diff, OfALibraryTheLineIsNotCompared) {
  const reports::DumpedProcess a{
      .pid = 1,
      .threads = {thread("MainThread",
                         {at("wait", "/usr/lib/python3.11/threading.py", 300)},
                         1)}};
  const reports::DumpedProcess b{
      .pid = 2,
      .threads = {thread("MainThread",
                         {at("wait", "/opt/lib/python3.12/threading.py", 355)},
                         2)}};
  EXPECT_TRUE(compare_stacks(a, b).empty());
}

TEST(Diff, ThreadsOfAPoolAndThoseThatAreOnOneSide) {
  const auto worker = [](std::string name) {
    return thread(std::move(name), {at("run", "/x/p.py", 1)});
  };
  const reports::DumpedProcess a{.pid = 1,
                                 .threads = {worker("pool-0_1"), worker("io")}};
  const reports::DumpedProcess b{.pid = 2, .threads = {worker("pool-3_7")}};
  const auto found = compare_stacks(a, b);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].thread, "thread io");
  EXPECT_TRUE(found[0].a);
  EXPECT_FALSE(found[0].b);
}

TEST(Diff, FactsOfBothSidesTheOddFirst) {
  const auto a = parsed(report_with(R"(
    {"part":"fds","pid":7,"json":{"descriptors":[{"kind":"pipe"}]}},
    {"part":"diagnosis","pid":null,"json":{"pid":7,"hung":false,"cause":"sleeps",
     "summary":"process 7 sleeps"}},
    {"part":"around","pid":7,"json":{"environment":{"OMP_NUM_THREADS":"1",
     "MASTER_PORT":"1"},"libraries":[{"name":"libgomp","path":"/a"}]}})"));
  const auto b = parsed(report_with(R"(
    {"part":"fds","pid":7,"json":{"descriptors":[{"kind":"pipe"},{"kind":"pipe"}]}},
    {"part":"diagnosis","pid":null,"json":{"pid":7,"hung":true,"cause":"sleeps",
     "summary":"process 8 sleeps"}},
    {"part":"around","pid":7,"json":{"environment":{"MASTER_PORT":"2","X":"y"},
     "libraries":[{"name":"libgomp","path":"/a"},{"name":"libgomp","path":"/b"}]}})"));
  const auto found = compare(a, b);
  std::vector<std::string> names;
  for (const FactDifference& one : found.facts) {
    names.push_back(one.group + ": " + one.name);
  }
  EXPECT_THAT(names, ElementsAre("diagnosis: hung", "libraries: libgomp",
                                 "environment: OMP_NUM_THREADS",
                                 "environment: X", "descriptors: pipe"));
  EXPECT_EQ(found.facts[1].b, "/a and /b");
  EXPECT_FALSE(found.facts[3].a);
  EXPECT_TRUE(compare(a, a).equal());
}

TEST(Diff, AGroupOfOneSideAloneIsNamedOnly) {
  const auto a = parsed(report_with(""));
  const auto b = parsed(report_with(
      R"({"part":"fds","pid":7,"json":{"descriptors":[{"kind":"pipe"}]}})"));
  const auto found = compare(a, b);
  EXPECT_TRUE(found.equal());
  EXPECT_THAT(found.not_compared, ElementsAre("descriptors"));
}

TEST(Diff, RanksByTheirNumbers) {
  const auto dump = [](std::string_view ranks) {
    std::string text;
    for (const char rank : ranks) {
      text += std::string(text.empty() ? "" : ",") + R"({"pid":1)" + rank +
              R"(,"rank":)" + rank + R"(,"host":"h","python":"3.)" + rank +
              R"(","threads":[]})";
    }
    return parsed(R"({"processes":[)" + text + "]}");
  };
  const auto found = compare(dump("123"), dump("432"));
  EXPECT_TRUE(found.facts.empty());
  EXPECT_EQ(found.only_in_a.text(), "1");
  EXPECT_EQ(found.only_in_b.text(), "4");
}

TEST(Diff, WhatIsNoReport) {
  const auto why = [](std::string_view bytes) {
    const auto side = parse_side(bytes);
    EXPECT_FALSE(side);
    return side ? "" : side.error().message;
  };
  EXPECT_THAT(why(""), HasSubstr("empty"));
  EXPECT_THAT(why("{"), HasSubstr("not JSON"));
  EXPECT_THAT(why("[1]"), HasSubstr("neither"));
  EXPECT_THAT(why("{}"), HasSubstr("neither"));
  EXPECT_THAT(why(R"({"processes":[]})"), HasSubstr("no process"));
  EXPECT_THAT(why(R"({"processes":[{"pid":"x"}]})"), HasSubstr("pid"));
  EXPECT_THAT(why(R"({"format":"x","processes":[]})"), HasSubstr("format"));
  EXPECT_THAT(why(std::string(200, '[')), HasSubstr("nested"));
  EXPECT_THAT(why(*pack({{"x/other.json", "{}"}}, 0)),
              HasSubstr("no report.json"));
  EXPECT_THAT(why(*pack({{"x/report.json", "{}"}}, 0)), HasSubstr("neither"));
}

}  // namespace
}  // namespace hangdbg
