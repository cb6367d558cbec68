#include "protocol/framing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hangdbg::dap {
namespace {

using testing::HasSubstr;
using testing::Optional;

TEST(Framing, FrameHasTheLengthInBytes) {
  EXPECT_EQ(frame("{}"), "Content-Length: 2\r\n\r\n{}");
  EXPECT_EQ(frame("é"), "Content-Length: 2\r\n\r\né");
}

TEST(Framing, GivesWhatCameWhole) {
  FrameDecoder decoder;
  decoder.feed(frame("one") + frame("") + frame("three"));
  EXPECT_THAT(*decoder.next(), Optional(std::string("one")));
  EXPECT_THAT(*decoder.next(), Optional(std::string()));
  EXPECT_FALSE(decoder.idle());
  EXPECT_THAT(*decoder.next(), Optional(std::string("three")));
  EXPECT_EQ(*decoder.next(), std::nullopt);
  EXPECT_TRUE(decoder.idle());
}

TEST(Framing, TakesAStreamByteByByte) {
  FrameDecoder decoder;
  std::vector<std::string> bodies;
  for (const char byte : frame("{\"seq\":1}") + frame("two")) {
    decoder.feed({&byte, 1});
    if (auto body = decoder.next().value()) {
      bodies.push_back(*body);
    }
  }
  EXPECT_THAT(bodies, testing::ElementsAre("{\"seq\":1}", "two"));
}

TEST(Framing, HeaderNamesKnowNoCaseAndOthersAreSkipped) {
  FrameDecoder decoder;
  decoder.feed("content-length:3\r\nContent-Type: x; charset=utf-8\r\n\r\nabc");
  EXPECT_THAT(*decoder.next(), Optional(std::string("abc")));
}

struct Refused {
  std::string stream;
  std::string why;
};

class FramingRefuses : public testing::TestWithParam<Refused> {};

TEST_P(FramingRefuses, AndStaysRefused) {
  FrameDecoder decoder(1000);
  decoder.feed(GetParam().stream);
  const auto body = decoder.next();
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().id, ErrorId::BadMessage);
  EXPECT_THAT(body.error().message, HasSubstr(GetParam().why));

  decoder.feed(frame("{}"));
  EXPECT_FALSE(decoder.next());
}

INSTANTIATE_TEST_SUITE_P(
    Streams,
    FramingRefuses,
    testing::Values(
        Refused{"GET / HTTP/1.1\r\n", "got \"GET / HTTP/1.1\\r\""},
        Refused{"P", "got \"P"},
        Refused{"\x16\x03\x01", "got \"\\x16\\x03\\x01\""},
        Refused{"Content-Type: a\r\nContent-Length: 2\r\n\r\n{}", "expected"},
        Refused{"Content-Length: two\r\n\r\n", "\"two\" is no"},
        Refused{"Content-Length: -2\r\n\r\n", "\"-2\" is no"},
        Refused{"Content-Length: \r\n\r\n", "\"\" is no"},
        Refused{"Content-Length: 99999999999999999999\r\n\r\n", "is no"},
        Refused{"Content-Length: 1001\r\n\r\n",
                "1001 bytes is more than the 1000"},
        Refused{"Content-Length: 2\r\nX: " + std::string(4096, 'x'),
                "no end of the header within 4096"}));

}  // namespace
}  // namespace hangdbg::dap
