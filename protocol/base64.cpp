#include "protocol/base64.h"

#include <cstdint>

namespace hangdbg {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const char byte = k < group.size() ? group[k] : '\0';
      bits = bits << 8 | static_cast<unsigned char>(byte);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= group.size() ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned count = 0;  // of bits that are not in a byte yet
  for (const char c : text) {
    const auto digit = kDigits.find(c);
    if (digit == kDigits.npos) {
      return fail(ErrorId::BadMessage, "this is not base64");
    }
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xff);
    }
  }
  if ((text.size() + padding) % 4 != 0 || (bits & ((1U << count) - 1)) != 0) {
    return fail(ErrorId::BadMessage, "this is not all of some base64");
  }
  return bytes;
}

}  // namespace hangdbg
