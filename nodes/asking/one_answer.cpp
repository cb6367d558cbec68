#include "nodes/asking/one_answer.h"

#include <fmt/core.h>

#include <utility>

#include "base/text.h"
#include "nodes/frames/messages.h"
#include "nodes/frames/pack.h"
#include "protocol/json.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostPacked = std::size_t{64} << 20;
constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;
constexpr std::size_t kMostLive = 16 << 20;
constexpr std::size_t kMostErrors = 64 << 10;
constexpr std::size_t kMostNoise = 20;  // lines that are kept

template <class T>
Result<T> message_of(const Frame& frame) {
  return decode<T>(TRY(Json::parse(frame.payload)));
}

}  // namespace

void OneAnswer::take(const Frame& frame, const std::string& program) {
  if (over_) {
    return;
  }
  if (frame.type == FrameType::Need && was_sent_) {
    return;  // it is on its way
  }
  if (frame.type == FrameType::Need) {
    needs_program_ = !stream_ && frame.payload == program;
    return needs_program_ ? void() : break_off("it needs another program");
  }
  const bool first = frame.type == FrameType::Hello && !stream_;
  if (first) {
    stream_ = frame.stream;
    next_ = 0;
  }
  if (frame.stream != stream_ || frame.number != next_) {
    return break_off(stream_ ? "a part of it is missing"
                             : "it has no beginning");
  }
  ++next_;
  heard_ = Deadline::Clock::now();
  switch (frame.type) {
    case FrameType::Hello: {
      const auto hello = message_of<NodeHello>(frame);
      if (!first || !hello || hello->program != program) {
        return break_off("it is of another hangdbg");
      }
      answer_.host = printable(hello->host);
      return;
    }
    case FrameType::Output:
      packed_ += frame.payload;
      return packed_.size() > kMostPacked ? break_off("it is too long")
                                          : void();
    case FrameType::Errors:
      if (answer_.err.size() < kMostErrors) {
        answer_.err += frame.payload;
      }
      return;
    case FrameType::Live:
      live_ += frame.payload;
      return live_.size() > kMostLive ? break_off("a line of it is too long")
                                      : void();
    case FrameType::End:
      return take_end(frame);
    case FrameType::Alive:
    case FrameType::Need:
      return;
  }
}

void OneAnswer::take_end(const Frame& frame) {
  const auto end = message_of<NodeEnd>(frame);
  if (!end || end->bytes < 0 || end->bytes > kMostBytes) {
    return break_off("its end is malformed");
  }
  over_ = true;
  if (end->failed) {
    answer_.failed =
        Error{.id = ErrorId::NodeFailed, .message = printable(*end->failed)};
    return;
  }
  const bool none = packed_.empty() && end->bytes == 0;  // of a live one
  auto out = none ? Result<std::string>("")
                  : unpack(packed_, static_cast<std::size_t>(end->bytes));
  packed_ = {};
  if (!out) {
    return break_off(out.error().message);
  }
  answer_.out = *std::move(out);
  answer_.code = static_cast<int>(end->code);
  answer_.error = end->error.value_or("");
}

void OneAnswer::take(const NoiseLine& noise) {
  if (answer_.noise.size() < kMostNoise) {
    answer_.noise.push_back(noise.text);
  }
}

std::vector<std::string> OneAnswer::take_lines() {
  std::vector<std::string> lines;
  std::size_t taken = 0;
  for (auto end = live_.find('\n'); end != std::string::npos;
       end = live_.find('\n', taken)) {
    lines.push_back(live_.substr(taken, end - taken));
    taken = end + 1;
  }
  live_.erase(0, taken);
  return lines;
}

void OneAnswer::break_off(std::string why) {
  over_ = true;
  packed_ = {};
  answer_.failed =
      Error{.id = ErrorId::BadMessage,
            .message = "its answer cannot be read: " + std::move(why)};
}

void OneAnswer::end(Error why) {
  if (!over_) {
    over_ = true;
    packed_ = {};
    answer_.failed = std::move(why);
  }
}

}  // namespace hangdbg
