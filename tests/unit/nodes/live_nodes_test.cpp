// A node whose connection stays open, and that says nothing any more, is given
// up.
#include "nodes/asking/live_nodes.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "nodes/frames/frame.h"
#include "nodes/frames/messages.h"
#include "nodes/program/own_program.h"
#include "protocol/json.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

// Of a node that says this and then nothing, with the connection open.
Error heard_of(const std::string& said, const LiveLimits& limits) {
  const auto launcher = make_launcher(
      "cmd:n1 sh -c 'printf \"%s\\n\" \"$1\"; exec sleep 1000' {host} " +
      shell_quote(said));
  EXPECT_TRUE(launcher);
  LiveNodes nodes(**launcher, {"n1"}, {"break"}, {}, limits);
  for (;;) {
    const auto heard = nodes.hear(Deadline::in(std::chrono::minutes(1)));
    if (!heard) {
      return heard.error();
    }
  }
}

TEST(LiveNodes, OneThatFallsSilentIsGivenUp) {
  const NodeHello hello{.program = own_program_id(), .host = "n1"};
  const std::string line(
      trim(frame_line("s1", 0, FrameType::Hello, encode(hello).dump())));
  const Error why = heard_of(line, {.silence = milliseconds(200)});
  EXPECT_EQ(why.id, ErrorId::TimedOut);
  EXPECT_EQ(why.message, "n1: no word in 200 ms");
}

TEST(LiveNodes, OneThatNeverSpeaksIsGivenUp) {
  const Error why = heard_of("Welcome", {.to_begin = milliseconds(200)});
  EXPECT_EQ(why.id, ErrorId::TimedOut);
  EXPECT_EQ(why.message, "n1: no word in 200 ms");
}

}  // namespace
}  // namespace hangdbg
