// Content-Length framing; see the header.
#include "protocol/framing.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>

#include "base/text.h"

namespace hangdbg::dap {
namespace {

constexpr std::string_view kFirst = "Content-Length:";
constexpr std::string_view kEndOfHeader = "\r\n\r\n";

// Header names know no case.
bool begins_as_header(std::string_view bytes) {
  const std::size_t length = std::min(bytes.size(), kFirst.size());
  return ::strncasecmp(bytes.data(), kFirst.data(), length) == 0;
}

}  // namespace

std::string frame(std::string_view body) {
  return fmt::format("{} {}{}{}", kFirst, body.size(), kEndOfHeader, body);
}

Result<std::optional<std::string>> FrameDecoder::next() {
  if (!body_size_) {
    body_size_ = TRY(read_header());
  }
  if (!body_size_ || buffer_.size() - used_ < *body_size_) {
    return std::nullopt;
  }
  std::string body = buffer_.substr(used_, *body_size_);
  used_ += *body_size_;
  body_size_.reset();
  if (used_ > buffer_.size() / 2) {
    buffer_.erase(0, used_);
    used_ = 0;
  }
  return body;
}

// The size of the body that follows, or nothing while the header is not whole.
Result<std::optional<std::size_t>> FrameDecoder::read_header() {
  const std::string_view unread = std::string_view(buffer_).substr(used_);
  if (!begins_as_header(unread)) {
    return fail(ErrorId::BadMessage,
                fmt::format("expected \"{}\", got \"{}\"", kFirst,
                            printable(unread.substr(0, kFirst.size()))));
  }
  const std::size_t end = unread.substr(0, kHeaderLimit).find(kEndOfHeader);
  if (end == std::string_view::npos) {
    if (unread.size() >= kHeaderLimit) {
      return fail(
          ErrorId::BadMessage,
          fmt::format("no end of the header within {} bytes", kHeaderLimit));
    }
    return std::nullopt;
  }
  // Only the first line means anything to DAP.
  const std::string_view header = unread.substr(0, end);
  const std::string_view number =
      trim(header.substr(0, header.find("\r\n")).substr(kFirst.size()));
  const auto size = parse_number<std::size_t>(number);
  if (!size) {
    return fail(ErrorId::BadMessage,
                fmt::format("\"{}\" is no Content-Length", printable(number)));
  }
  if (*size > body_limit_) {
    return fail(ErrorId::BadMessage,
                fmt::format("a message of {} bytes is more than the {} allowed",
                            *size, body_limit_));
  }
  used_ += end + kEndOfHeader.size();
  return size;
}

}  // namespace hangdbg::dap
