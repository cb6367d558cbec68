#include "client/views/dump/picture_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace hangdbg {
namespace {

bool is_tail(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// About: what is not Latin, Greek or Cyrillic may be twice as wide.
std::size_t width_of(char32_t character) {
  return character >= 0x1100 ? 2 : 1;
}

// The bytes of what is printed that are so wide at most.
std::size_t bytes_of(std::string_view safe, std::size_t most) {
  std::size_t bytes = 0, wide = 0;
  while (bytes < safe.size()) {
    std::size_t next = bytes + 1;
    while (next < safe.size() && is_tail(safe[next])) {
      ++next;
    }
    wide += columns(safe.substr(bytes, next - bytes));
    if (wide > most) {
      break;
    }
    bytes = next;
  }
  return bytes;
}

}  // namespace

std::string xml_text(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6>
      kEscaped = {{{"&", "&amp;"},
                   {"<", "&lt;"},
                   {">", "&gt;"},
                   {"\"", "&quot;"},
                   {"\xef\xbf\xbe", "\xef\xbf\xbd"},
                   {"\xef\xbf\xbf", "\xef\xbf\xbd"}}};
  std::string out;
  const std::string safe = printable(text);
  for (std::string_view rest = safe; !rest.empty();) {
    const auto special = std::ranges::find_if(
        kEscaped, [&](const auto& one) { return rest.starts_with(one.first); });
    if (special == kEscaped.end()) {
      out += rest.front();
      rest.remove_prefix(1);
    } else {
      out += special->second;
      rest.remove_prefix(special->first.size());
    }
  }
  return out;
}

std::size_t columns(std::string_view text) {
  std::size_t columns = 0;
  for (const char32_t character : to_utf32(printable(text))) {
    columns += width_of(character);
  }
  return columns;
}

std::string cut(std::string_view text, std::size_t most) {
  const std::string safe = printable(text);
  return columns(safe) <= most ? safe
                               : safe.substr(0, bytes_of(safe, most - 1)) + "…";
}

std::vector<std::string> wrapped(std::string_view text, std::size_t most) {
  std::vector<std::string> lines;
  const std::string safe = printable(text);
  std::string_view rest = safe;
  while (!rest.empty()) {
    const std::string indent = lines.empty() ? "" : "    ";
    std::size_t end =
        std::max<std::size_t>(bytes_of(rest, most - indent.size()), 1);
    if (const auto space = rest.substr(0, end).rfind(' ');
        end < rest.size() && space != rest.npos && space > 0) {
      end = space;
    }
    lines.push_back(indent + std::string(rest.substr(0, end)));
    rest.remove_prefix(end);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  }
  return lines;
}

std::string html_page(std::string_view title,
                      std::string_view style,
                      std::string_view body) {
  return fmt::format(
      R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width"/>
<title>{0}</title>
<style>{1}</style>
</head>
<body>
<h1>{0}</h1>
{2}</body>
</html>
)",
      xml_text(title), style, body);
}

}  // namespace hangdbg
