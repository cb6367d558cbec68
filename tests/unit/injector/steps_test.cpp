#include "injector/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hangdbg {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Ge;
using testing::Pair;

TEST(Steps, InTheirOrder) {
  Steps steps;
  steps.done("one");
  steps.add("stopped", 1500ns);
  steps.done("two");
  EXPECT_THAT(steps.microseconds(),
              ElementsAre(Pair("one", Ge(0)), Pair("stopped", 1.5),
                          Pair("two", Ge(0))));
}

TEST(Steps, AddUpToTheTimeThatPassed) {
  const auto start = Steps::Clock::now();
  Steps steps;
  const auto made = Steps::Clock::now();
  while (Steps::Clock::now() - made < 2ms) {
  }
  steps.done("busy");
  steps.done("then");
  const std::chrono::duration<double, std::micro> all =
      Steps::Clock::now() - start;
  const auto& taken = steps.microseconds();
  EXPECT_GE(taken[0].second, 2000);
  EXPECT_LE(taken[0].second + taken[1].second, all.count());
}

}  // namespace
}  // namespace hangdbg
