// "Content-Length: N\r\n\r\n" and N bytes: how DAP messages lie in a stream.
//
// The decoder takes the stream in whatever pieces it comes and gives whole
// message bodies. It believes nothing: what does not begin as a message of
// ours must (a browser's "GET /", say) is refused at its first wrong byte,
// and neither header nor body may grow beyond a limit.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hangdbg::dap {

// The body with its header in front.
std::string frame(std::string_view body);

class FrameDecoder {
 public:
  static constexpr std::size_t kHeaderLimit = 4096;
  // Of what an editor sends, and of what our own agent answers it.
  static constexpr std::size_t kClientLimit = 16 << 20;
  static constexpr std::size_t kAgentLimit = 64 << 20;

  explicit FrameDecoder(std::size_t body_limit = kAgentLimit)
      : body_limit_(body_limit) {}

  // From the next header on.
  void set_body_limit(std::size_t limit) { body_limit_ = limit; }

  void feed(std::string_view bytes) { buffer_.append(bytes); }

  // The next whole body, or nothing until more has been fed.
  // Error: BadMessage, from then on at every call: there is no way back into
  // step with the stream.
  Result<std::optional<std::string>> next();

  // True between messages: a stream that ends here ended cleanly.
  bool idle() const { return buffer_.size() == used_ && !body_size_; }

 private:
  Result<std::optional<std::size_t>> read_header();

  std::string buffer_;
  std::size_t used_ = 0;                  // bytes of buffer_ that are done with
  std::optional<std::size_t> body_size_;  // set once the header is read
  std::size_t body_limit_;
};

}  // namespace hangdbg::dap
