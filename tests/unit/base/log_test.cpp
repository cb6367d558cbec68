#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace hangdbg::log {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

// Areas and levels are one for the whole program.
class Log : public testing::Test {
 protected:
  void TearDown() override { ASSERT_TRUE(configure("all:off")); }
};

TEST_F(Log, DebugGoesToTheRingUnasked) {
  CaptureStderr();
  debug(Area::Injector, "stub at {:#x}", 4096);
  EXPECT_THAT(GetCapturedStderr(), IsEmpty());
  EXPECT_THAT(ring().back(),
              MatchesRegex("[0-9]+:[0-9]+:[0-9]+\\.[0-9]+ injector debug "
                           "stub at 0x1000"));
}

TEST_F(Log, TraceGoesNowhereUnasked) {
  EXPECT_FALSE(enabled(Area::Dap, Level::Trace));
  trace(Area::Dap, "unasked");
  EXPECT_THAT(ring(), Not(Contains(HasSubstr("unasked"))));
}

TEST_F(Log, ConfigureShowsAnAreaFromALevelUp) {
  ASSERT_TRUE(configure("injector:info, dap:trace"));
  CaptureStderr();
  debug(Area::Injector, "too low");
  warn(Area::Injector, "seen");
  trace(Area::Dap, "asked for");
  warn(Area::Server, "other area");
  const std::string shown = GetCapturedStderr();
  EXPECT_THAT(shown, HasSubstr(" injector warn seen\n"));
  EXPECT_THAT(shown, HasSubstr(" dap trace asked for\n"));
  EXPECT_THAT(shown, Not(HasSubstr("too low")));
  EXPECT_THAT(shown, Not(HasSubstr("other area")));
  EXPECT_THAT(ring(), Contains(EndsWith(" injector debug too low")));
}

TEST_F(Log, AreaAloneMeansDebug) {
  ASSERT_TRUE(configure("agent"));
  CaptureStderr();
  debug(Area::Agent, "hello");
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("hello"));
}

TEST_F(Log, UnknownWordsAreNamed) {
  const Status bad_area = configure("injecter:debug");
  ASSERT_FALSE(bad_area);
  EXPECT_EQ(bad_area.error().id, ErrorId::Usage);
  EXPECT_THAT(bad_area.error().message, HasSubstr("\"injecter\""));
  EXPECT_THAT(bad_area.error().hint, HasSubstr("injector"));

  const Status bad_level = configure("dap:loud");
  ASSERT_FALSE(bad_level);
  EXPECT_THAT(bad_level.error().message, HasSubstr("\"loud\""));
}

TEST_F(Log, ALineCannotForgeAnother) {
  write(Area::Agent, Level::Info, "one\n12:00:00.000000 agent info two");
  EXPECT_THAT(ring().back(), HasSubstr("one\\n12:00"));
}

TEST_F(Log, RingKeepsTheLast512LinesOfAllThreads) {
  {
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < 4; ++writer) {
      writers.emplace_back([writer] {
        for (int i = 0; i < 500; ++i) {
          debug(Area::Base, "writer {} line {}", writer, i);
          ring();
        }
      });
    }
  }
  debug(Area::Base, "the last");
  const std::vector<std::string> lines = ring();
  EXPECT_THAT(lines, SizeIs(512));
  EXPECT_THAT(lines.back(), EndsWith(" base debug the last"));
}

}  // namespace
}  // namespace hangdbg::log
