#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/views/record/comparison.h"

namespace hangdbg {
namespace {

using testing::HasSubstr;

constexpr const char* kHead =
    R"({"title":"a","began":1.0,"rate":100,"lasted_s":10.0,"due":9,"all":true})"
    "\n";

std::string run(const char* function, int samples) {
  return fmt::format(
      R"({{"at_s":0,"samples":{},"pid":1,"tid":1,"thread":"","stack":[{{"function":"main","file":"/a.py","line":3}},{{"function":"{}","file":"/a.py","line":5}}]}})"
      "\n",
      samples, function);
}

std::string runs(const char* function, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += run(function, 1);
  }
  return text;
}

ReadProfile parsed(const std::string& text) {
  auto read = parse_profile(text);
  EXPECT_TRUE(read) << read.error().text();
  return *std::move(read);
}

TEST(RecordDiff, BothFormatsTellTheSame) {
  const auto json = parsed(kHead + runs("f", 3) + runs("g", 1));
  const auto collapsed = parsed(
      "main (/a.py:3);f (/a.py:9) 3\n"
      "main (/a.py:3);g (/a.py:7) 1\n");
  EXPECT_EQ(json.lasted_s, 10.0);
  EXPECT_FALSE(collapsed.lasted_s);
  for (const FunctionChange& one : compare_functions(json, collapsed)) {
    EXPECT_EQ(one.difference(), 0) << one.place.function;
    EXPECT_FALSE(one.is_certain());
  }
}

TEST(RecordDiff, TheSlowerIsFirst) {
  const auto before = parsed("main (a:1);f (a:2) 500\nmain (a:1);g (a:3) 500");
  const auto after = parsed("main (a:1);f (a:2) 800\nmain (a:1);g (a:3) 200");
  const auto all = compare_functions(before, after);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].place.function, "f");
  EXPECT_NEAR(all[0].difference(), 0.3, 1e-9);
  EXPECT_NEAR(all[0].error, 0.0202, 1e-4);  // sqrt(.5 * .5 / n + .8 * .2 / n)
  EXPECT_TRUE(all[0].is_certain());
  EXPECT_EQ(all[2].place.function, "g");
  EXPECT_NEAR(all[2].difference(), -0.3, 1e-9);
  EXPECT_FALSE(all[1].is_certain());  // main, as it was
  EXPECT_EQ(all[1].total_after, 1);
}

// A hundred samples of one moment are no more than one.
TEST(RecordDiff, ALongRunIsOneSample) {
  const auto before = parsed(kHead + run("f", 100) + run("g", 100));
  const auto after = parsed(kHead + run("f", 150) + run("g", 50));
  for (const FunctionChange& one : compare_functions(before, after)) {
    EXPECT_FALSE(one.is_certain()) << one.place.function;
  }
  EXPECT_TRUE(
      compare_functions(parsed(kHead + runs("f", 100) + runs("g", 100)),
                        parsed(kHead + runs("f", 150) + runs("g", 50)))[0]
          .is_certain());
}

TEST(RecordDiff, AWaitIsItsFunctionsOwnTime) {
  const auto one = parsed(
      "f (a:2);waits in read, 3 = pipe:[7] 10\nf (a:2) 10\nrank 0;f (a:2) 1");
  const auto times = function_times(one.profile);
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times[0].own, 21U);
}

TEST(RecordDiff, WhatIsNoProfileIsRefused) {
  for (const std::string& text : std::vector<std::string>{
           "", "\n", "{", "{}", "[]", "f (a:1)", "f (a:1) -3", "f (a:1) 0",
           "f (a:1) 99999999999999999999", std::string("\0\0 1x", 6),
           kHead + std::string("{}"), kHead + std::string("null"),
           kHead + run("f", -1), kHead + run("f", 1).substr(0, 40),
           R"({"$schema":"x","profiles":[]})"}) {
    EXPECT_FALSE(parse_profile(text)) << text;
  }
  EXPECT_THAT(parse_profile(kHead + run("f", 1) + "x").error().text(),
              HasSubstr("line 3"));
}

TEST(RecordDiff, NamesAreSafeInThePage) {
  const auto odd = parsed("<script>alert(1)</script> (a:1) 5\n");
  const std::string page = write_flame_comparison(odd, odd);
  EXPECT_THAT(page, testing::Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, HasSubstr(": 5 samples<br/>"));
  EXPECT_THAT(page, HasSubstr("alert(1)&lt;/script&gt; (a)</div>"));
}

}  // namespace
}  // namespace hangdbg
