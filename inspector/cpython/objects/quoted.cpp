#include "inspector/cpython/objects/quoted.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "inspector/cpython/layout/text.h"

namespace hangdbg {
namespace {

// Controls, marks of direction, spaces other than ' ', surrogates, private use
// and what is no character.
constexpr std::pair<char32_t, char32_t> kUnprintable[] = {
    {0, 0x1f},          {0x7f, 0xa0},          {0xad, 0xad},
    {0x61c, 0x61c},     {0x1680, 0x1680},      {0x180e, 0x180e},
    {0x2000, 0x200f},   {0x2028, 0x202f},      {0x205f, 0x206f},
    {0x3000, 0x3000},   {0xd800, 0xf8ff},      {0xfdd0, 0xfdef},
    {0xfeff, 0xfeff},   {0xfff0, 0xfffb},      {0xfffe, 0xffff},
    {0xe0000, 0xe00ff}, {0xe01f0, 0xffffffff},
};

bool is_printable(char32_t c) {
  return std::ranges::none_of(kUnprintable, [c](const auto& range) {
    return range.first <= c && c <= range.second;
  });
}

void append(std::string& text, char32_t c, char quote) {
  const auto code = static_cast<std::uint32_t>(c);
  if (c == '\n') {
    text += "\\n";
  } else if (c == '\r') {
    text += "\\r";
  } else if (c == '\t') {
    text += "\\t";
  } else if (c == '\\' || c == static_cast<char32_t>(quote)) {
    text += '\\';
    text += static_cast<char>(c);
  } else if (is_printable(c)) {
    append_utf8(text, c);
  } else if (c < 0x100) {
    text += fmt::format("\\x{:02x}", code);
  } else if (c < 0x10000) {
    text += fmt::format("\\u{:04x}", code);
  } else {
    text += fmt::format("\\U{:08x}", code);
  }
}

char quote_for(bool has_single, bool has_double) {
  return has_single && !has_double ? '"' : '\'';
}

}  // namespace

std::string python_quoted(std::u32string_view text) {
  const char quote = quote_for(text.contains(U'\''), text.contains(U'"'));
  std::string result(1, quote);
  for (const char32_t c : text) {
    append(result, c, quote);
  }
  return result + quote;
}

std::string python_quoted(std::span<const std::byte> bytes) {
  const auto has = [&](char c) {
    return std::ranges::find(bytes, static_cast<std::byte>(c)) != bytes.end();
  };
  const char quote = quote_for(has('\''), has('"'));
  std::string result{'b', quote};
  for (const std::byte byte : bytes) {
    const auto c = std::to_integer<char32_t>(byte);
    if (c < 0x80) {
      append(result, c, quote);
    } else {
      result += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(c));
    }
  }
  return result + quote;
}

std::string rest_of(std::uint64_t size, std::size_t shown) {
  return size > shown ? fmt::format(" … {} more", size - shown) : "";
}

}  // namespace hangdbg
