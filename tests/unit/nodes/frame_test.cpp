#include "nodes/frames/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "nodes/asking/one_answer.h"
#include "nodes/frames/messages.h"
#include "nodes/frames/pack.h"
#include "protocol/json.h"

namespace hangdbg {
namespace {

const std::string kProgram = "00ff";

std::string hello() {
  return frame_line(
      "s1", 0, FrameType::Hello,
      encode(NodeHello{.program = kProgram, .host = "n1", .pid = 7}).dump());
}

std::string whole_answer(const std::string& out) {
  std::string text = hello();
  std::uint32_t number = 1;
  const std::string packed = pack(out);
  for (std::size_t at = 0; at < packed.size(); at += kFramePayload) {
    text += frame_line("s1", number++, FrameType::Output,
                       packed.substr(at, kFramePayload));
  }
  return text +
         frame_line(
             "s1", number, FrameType::End,
             encode(NodeEnd{.bytes = static_cast<std::int64_t>(out.size())})
                 .dump());
}

// What becomes of one node's output.
NodeAnswer answer_of(const std::string& bytes, std::size_t piece) {
  FrameReader reader;
  OneAnswer answer("n1");
  const auto take = [&](const std::vector<FromNode>& all) {
    for (const FromNode& one : all) {
      if (const auto* const frame = std::get_if<Frame>(&one)) {
        answer.take(*frame, kProgram);
      } else if (const auto* const noise = std::get_if<NoiseLine>(&one)) {
        answer.take(*noise);
      } else if (!answer.over()) {
        answer.break_off(std::get<BrokenFrame>(one).why);
      }
    }
  };
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    take(reader.feed(std::string_view(bytes).substr(at, piece)));
  }
  take(reader.finish());
  answer.end({.id = ErrorId::ChannelClosed, .message = "it stops"});
  return answer.hand_on();
}

TEST(Frame, ComesBackFromPiecesOfAnySize) {
  const std::string out(10'000, 'x');
  for (const std::size_t piece : {1UL, 7UL, 100'000UL}) {
    const NodeAnswer answer = answer_of(whole_answer(out + "y\n"), piece);
    ASSERT_FALSE(answer.failed) << answer.failed->message;
    EXPECT_EQ(answer.out, out + "y\n");
    EXPECT_EQ(answer.host, "n1");
  }
}

TEST(Frame, MayBeEmpty) {
  FrameReader reader;
  const auto found = reader.feed(frame_line("s1", 4, FrameType::Alive, {}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(std::get<Frame>(found[0]).number, 4U);
}

TEST(Frame, NoiseAroundItIsSkippedAndKept) {
  std::string noisy = "Welcome!\r\n\x1b[31mred\n" + std::string(1 << 20, '#') +
                      "\nno end of line";
  for (const char c : whole_answer("answer")) {
    noisy += c == '\n' ? "\r\n" : std::string(1, c);
  }
  const NodeAnswer answer = answer_of(noisy + "Goodbye\n", 4096);
  ASSERT_FALSE(answer.failed) << answer.failed->message;
  EXPECT_EQ(answer.out, "answer");
  ASSERT_GE(answer.noise.size(), 3U);
  EXPECT_EQ(answer.noise[0], "Welcome!");
  EXPECT_EQ(answer.noise[1], "\\x1b[31mred") << "a terminal would obey it";
  EXPECT_LT(answer.noise[2].size(), 300U);
}

TEST(Frame, ALabelIsTakenOff) {
  FrameReader reader;
  for (const auto& [before, label] : {std::pair("n3: ", "n3"),
                                      {"", ""},
                                      {"[1,0]<stdout>: ", "[1,0]<stdout>"},
                                      {"Last login n3: n3: ", "n3"}}) {
    const auto found = reader.feed(before + hello());
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(std::get<Frame>(found[0]).label, label) << before;
  }
}

// Unless it means the same: a capital digit of the sum, bits behind the last
// byte.
TEST(Frame, AnyChangedByteIsSeen) {
  const std::string line = hello();
  FrameReader whole;
  const Frame right = std::get<Frame>(whole.feed(line)[0]);
  const std::size_t mark = line.find('~') + 1;
  // Except an "a" of the checksum and the spare bits of the last byte.
  int means_the_same = 0;
  for (std::size_t at = mark; at + 1 < line.size(); ++at) {
    std::string changed = line;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    FrameReader reader;
    const auto found = reader.feed(changed);
    ASSERT_EQ(found.size(), 1U) << changed;
    if (const auto* const frame = std::get_if<Frame>(&found[0])) {
      EXPECT_EQ(frame->payload, right.payload) << changed;
      EXPECT_EQ(frame->stream, right.stream) << changed;
      EXPECT_EQ(frame->number, right.number) << changed;
      EXPECT_EQ(frame->type, right.type) << changed;
      ++means_the_same;
    }
  }
  EXPECT_LE(means_the_same, 2);
}

TEST(OneAnswer, WhatIsMissingOrComesTwiceEndsIt) {
  const std::string whole = whole_answer("answer");
  const std::size_t second = whole.find('\n') + 1;
  const std::size_t third = whole.find('\n', second) + 1;
  const std::string a = whole.substr(0, second);
  const std::string b = whole.substr(second, third - second);
  const std::string c = whole.substr(third);
  EXPECT_FALSE(answer_of(a + b + c, 100).failed);
  for (const std::string& bad : {a + c, b + c, a + b + b + c, a + a + b + c}) {
    const auto answer = answer_of(bad, 100);
    ASSERT_TRUE(answer.failed) << bad;
    EXPECT_EQ(answer.failed->id, ErrorId::BadMessage) << bad;
  }
  EXPECT_EQ(answer_of(a + b, 100).failed->id, ErrorId::ChannelClosed);
}

TEST(OneAnswer, AnotherHangdbgIsNamed) {
  const std::string other = frame_line(
      "s1", 0, FrameType::Hello, encode(NodeHello{.program = "aa"}).dump());
  EXPECT_THAT(answer_of(other, 100).failed->message,
              testing::HasSubstr("another hangdbg"));
}

TEST(OneAnswer, AFewBytesDoNotFillTheMemory) {
  const std::string bomb =
      hello() + frame_line("s1", 1, FrameType::Output, pack("x")) +
      frame_line("s1", 2, FrameType::End,
                 encode(NodeEnd{.bytes = 200'000'000}).dump());
  EXPECT_EQ(answer_of(bomb, 100).failed->id, ErrorId::BadMessage);
  const std::string huge =
      hello() + frame_line("s1", 1, FrameType::End,
                           encode(NodeEnd{.bytes = 1LL << 40}).dump());
  EXPECT_EQ(answer_of(huge, 100).failed->id, ErrorId::BadMessage);
}

// What zlib makes of one gzip member that has come to its end, its checksum
// right; none otherwise.
std::optional<std::string> from_gzip(std::string packed, std::size_t size) {
  std::string bytes(size + 1, '\0');
  z_stream stream{};
  ::inflateInit2(&stream, 15 + 16);
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const bool whole =
      ::inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0;
  bytes.resize(stream.total_out);
  ::inflateEnd(&stream);
  return whole ? std::optional(bytes) : std::nullopt;
}

TEST(PackGzip, IsOneMemberWhicheverItsPieces) {
  constexpr std::size_t kMiB = 1 << 20;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kMiB - 1, kMiB, kMiB + 1, 5 * kMiB}) {
    std::string bytes(size, '\0');
    std::uint32_t state = 1;
    for (char& one : bytes) {  // half of it does not compress
      state = state * 1'664'525 + 1'013'904'223;
      one = static_cast<char>(state & 1 << 30 ? state >> 16 : 0);
    }
    const std::string packed = pack_gzip(bytes);
    EXPECT_EQ(from_gzip(packed, size), bytes) << size;
    EXPECT_EQ(pack_gzip(bytes), packed) << "it is the same each time";
    EXPECT_FALSE(from_gzip(packed.substr(0, packed.size() - 1), size)) << size;
    EXPECT_FALSE(from_gzip(packed.substr(0, packed.size() / 2), size)) << size;
  }
}

}  // namespace
}  // namespace hangdbg
