// Text for people: bytes from anywhere made safe to print, durations as one
// says them, commands as one types them, and the few ways to take a line apart.
#pragma once

#include <charconv>
#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hangdbg {

enum class Lines { Escape, Keep };  // \n and \t

// What a terminal can be given: control characters, those that reverse the
// direction of writing, and bytes that are no UTF-8 come out as "\n", "\x1b",
// "\u202e". The rest stays as it is, a backslash too: this is for eyes.
std::string printable(std::string_view bytes, Lines lines = Lines::Escape);

// Valid UTF-8: what is not becomes U+FFFD, one for each bad byte.
std::string to_utf8(std::string_view bytes);

// The code points of UTF-8, bad bytes likewise.
std::u32string to_utf32(std::string_view bytes);

// "950 µs", "6 ms", "3.2 s", "4 min 10 s", "1 h 52 min", "2 d 3 h".
std::string human_duration(std::chrono::nanoseconds duration);

// One word as sh reads it back: quoted only where it must be.
std::string shell_quote(std::string_view word);

// A command line to copy and paste.
std::string shell_quote(const std::vector<std::string>& words);

// What follows the last slash.
std::string_view base_name(std::string_view path);

// Without white space at both ends.
std::string_view trim(std::string_view text);

// "a,,b" by ',' is "a", "", "b"; "" is one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);

// "a  b" is "a", "b": the words between white space.
std::vector<std::string_view> split_words(std::string_view text);

// The pieces are of `text`: a string that ends with the statement has none.
template <std::same_as<std::string> T>
std::vector<std::string_view> split(T&& text, char separator) = delete;
template <std::same_as<std::string> T>
std::vector<std::string_view> split_words(T&& text) = delete;

// The whole of `text` as a number; nothing if any of it is not one, or if it
// is out of range. No sign "+", no "0x", no white space.
template <std::integral T>
std::optional<T> parse_number(std::string_view text, int base = 10) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return value;
}

}  // namespace hangdbg
