#include "client/views/ps/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace hangdbg {
namespace {

using testing::HasSubstr;

std::string of_one(SurveyedProcess process) {
  return processes_json({std::move(process)}, {}).dump();
}

TEST(PsJson, SaysThatThereWasNoTime) {
  const std::string said = of_one({.pid = 79655});
  EXPECT_THAT(said, HasSubstr(R"("state":"unknown")"));
  EXPECT_THAT(said, HasSubstr(R"("error":"not checked: timeout")"));
}

TEST(PsJson, SaysNothingOfOneThatHasEnded) {
  const std::string said = of_one({.activity = {.state = "ended"}});
  EXPECT_THAT(said, HasSubstr(R"("state":"ended")"));
  EXPECT_THAT(said, HasSubstr(R"("error":null)"));
}

}  // namespace
}  // namespace hangdbg
