// Text for people; see the header.
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace hangdbg {
namespace {

constexpr std::string_view kSpace = " \t\r\n\v\f";

struct Character {
  char32_t code = 0;
  std::size_t length = 1;  // bytes
  bool valid = false;
};

// The first character of `bytes`, which is not empty, by RFC 3629: no
// overlong forms, no surrogates, nothing above U+10FFFF.
Character first_character(std::string_view bytes) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint8_t>(bytes[i]);
  };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) {
    return {lead, 1, true};
  }
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < length) {
    return {};
  }
  char32_t code = lead & (0xFF >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return {};
    }
    code = code << 6 | (byte(i) & 0x3F);
  }
  const bool overlong =
      (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  if (overlong || surrogate || code > 0x10FFFF) {
    return {};
  }
  return {code, length, true};
}

// Printable ASCII.
bool is_plain(char byte) {
  return byte >= ' ' && byte <= '~';
}

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

// Marks that change the direction of what follows, and line separators.
bool is_deceiving(char32_t code) {
  return code == 0x200E || code == 0x200F || code == 0x061C ||
         (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string escaped(char32_t code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return code < 0x80 ? fmt::format("\\x{:02x}", std::uint32_t{code})
                         : fmt::format("\\u{:04x}", std::uint32_t{code});
  }
}

// "1 h 52 min", "1 h".
std::string two_units(long long value,
                      const char* large,
                      long long ratio,
                      const char* small) {
  if (value % ratio == 0) {
    return fmt::format("{} {}", value / ratio, large);
  }
  return fmt::format("{} {} {} {}", value / ratio, large, value % ratio, small);
}

}  // namespace

std::string printable(std::string_view bytes, Lines lines) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    // Nearly all of it, and 100 MB may have been printed.
    const auto plain = static_cast<std::size_t>(
        std::ranges::find_if_not(bytes, is_plain) - bytes.begin());
    text += bytes.substr(0, plain);
    bytes.remove_prefix(plain);
    if (bytes.empty()) {
      break;
    }
    const Character c = first_character(bytes);
    const bool kept =
        lines == Lines::Keep && (c.code == '\n' || c.code == '\t');
    if (!c.valid) {
      text += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(bytes[0]));
    } else if ((is_control(c.code) || is_deceiving(c.code)) && !kept) {
      text += escaped(c.code);
    } else {
      text += bytes.substr(0, c.length);
    }
    bytes.remove_prefix(c.length);
  }
  return text;
}

std::string to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character c = first_character(bytes);
    text += c.valid ? bytes.substr(0, c.length) : "\uFFFD";
    bytes.remove_prefix(c.length);
  }
  return text;
}

std::u32string to_utf32(std::string_view bytes) {
  std::u32string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character c = first_character(bytes);
    text += c.valid ? c.code : U'\uFFFD';
    bytes.remove_prefix(c.length);
  }
  return text;
}

std::string human_duration(std::chrono::nanoseconds duration) {
  using namespace std::chrono;
  using namespace std::chrono_literals;
  duration = std::max(duration, 0ns);
  // Rounded down throughout: 59.96 s is "59.9 s", never "60.0 s".
  if (duration < 1ms) {
    return fmt::format("{} µs", duration_cast<microseconds>(duration).count());
  }
  if (duration < 1s) {
    return fmt::format("{} ms", duration_cast<milliseconds>(duration).count());
  }
  if (const auto tenths = floor<milliseconds>(duration).count() / 100;
      tenths < 600) {
    return fmt::format("{}.{} s", tenths / 10, tenths % 10);
  }
  if (duration < 1h) {
    return two_units(floor<seconds>(duration).count(), "min", 60, "s");
  }
  if (duration < 24h) {
    return two_units(floor<minutes>(duration).count(), "h", 60, "min");
  }
  return two_units(floor<hours>(duration).count(), "d", 24, "h");
}

std::string shell_quote(std::string_view word) {
  const auto harmless = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z') || std::string_view("_-+=./:,@%").contains(c);
  };
  if (!word.empty() && std::ranges::all_of(word, harmless)) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_quote(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += line.empty() ? "" : " ";
    line += shell_quote(word);
  }
  return line;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const std::size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return pieces;
    }
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!(text = trim(text)).empty()) {
    const std::size_t end = std::min(text.find_first_of(kSpace), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

}  // namespace hangdbg
