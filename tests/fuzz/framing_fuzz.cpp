// The framing decoder gives the same messages, whatever pieces a stream comes
// in, and survives any bytes.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "protocol/framing.h"

namespace {

using hangdbg::dap::FrameDecoder;

struct Outcome {
  std::vector<std::string> bodies;
  std::string error;
  bool operator==(const Outcome&) const = default;
};

Outcome decode_in_pieces(std::string_view stream, std::size_t piece) {
  FrameDecoder decoder(1 << 16);
  Outcome outcome;
  while (!stream.empty()) {
    decoder.feed(stream.substr(0, piece));
    stream.remove_prefix(std::min(piece, stream.size()));
    for (;;) {
      auto body = decoder.next();
      if (!body) {
        // What was got instead of a header depends on how much had come.
        outcome.error = "refused";
        return outcome;
      }
      if (!*body) {
        break;
      }
      outcome.bodies.push_back(**body);
    }
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1,
                                size - 1);
  const std::size_t piece = data[0] % 32 + 1;
  if (decode_in_pieces(stream, piece) !=
      decode_in_pieces(stream, stream.size())) {
    std::abort();
  }
  return 0;
}
