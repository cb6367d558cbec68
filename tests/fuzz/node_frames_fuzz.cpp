// What nodes answer: frames in any noise, and an answer put together from them.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nodes/asking/one_answer.h"
#include "nodes/frames/frame.h"
#include "nodes/frames/pack.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace hangdbg;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  FrameReader reader;
  OneAnswer answer("n1");
  const auto take = [&](const std::vector<FromNode>& all) {
    for (const FromNode& one : all) {
      if (const auto* const frame = std::get_if<Frame>(&one)) {
        answer.take(*frame, "00ff");
      } else if (const auto* const noise = std::get_if<NoiseLine>(&one)) {
        answer.take(*noise);
      }
    }
  };
  const std::size_t half = size / 2;
  take(reader.feed(bytes.substr(0, half)));
  take(reader.feed(bytes.substr(half)));
  take(reader.finish());
  if (size > 0) {
    (void)unpack(bytes.substr(1), bytes[0] * 16U);
    // The checksum keeps a fuzzer out: what lies behind it is tried, too.
    Frame frame{.stream = "s",
                .number = 0,
                .type = static_cast<FrameType>("HAOEXN"[data[0] % 6]),
                .payload = std::string(bytes.substr(1))};
    OneAnswer other("n2");
    other.take(frame, "00ff");
    frame.number = 1;
    other.take(frame, "00ff");
  }
  return 0;
}
