// PEP 393: 1, 2 or 4 bytes a code point, whichever the widest one needs.
#include "inspector/cpython/layout/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hangdbg {
Result<CodePoints> read_code_points(const MemoryReader& memory,
                                    const CPythonLayout& layout,
                                    Address object,
                                    std::size_t limit) {
  const auto length =
      TRY(memory.read_value<std::uint64_t>(object + layout.str_length));
  const auto state =
      TRY(memory.read_value<std::uint32_t>(object + layout.str_state));
  const std::uint32_t flags = state >> layout.str_kind_shift;
  const std::size_t kind = flags & 7;
  const bool compact = (flags & 8) != 0;
  const bool ascii = (flags & 16) != 0;
  if ((kind != 1 && kind != 2 && kind != 4) || (ascii && kind != 1)) {
    return fail(ErrorId::Unreadable,
                fmt::format("no str at {:#x}", object.value));
  }
  Address data = object + layout.str_compact_data;
  if (!compact) {  // an instance of a subclass, or made piece by piece
    data = TRY(memory.read_address(data));
  } else if (ascii) {
    data = object + layout.str_ascii_data;
  }

  const std::size_t count = std::min<std::uint64_t>(length, limit);
  std::vector<std::byte> bytes(count * kind);
  TRY(memory.read(data, bytes));
  CodePoints points{std::u32string(count, 0), length};
  for (std::size_t i = 0; i < count; ++i) {
    // little-endian, as x86-64 is
    std::memcpy(&points.text[i], bytes.data() + i * kind, kind);
  }
  return points;
}

Result<std::string> read_str(const MemoryReader& memory,
                             const CPythonLayout& layout,
                             Address object,
                             std::size_t limit) {
  const CodePoints points =
      TRY(read_code_points(memory, layout, object, limit));
  std::string text;
  text.reserve(points.text.size());
  for (const char32_t c : points.text) {
    append_utf8(text, c);
  }
  if (points.length > limit) {
    text += "…";
  }
  return text;
}

void append_utf8(std::string& text, char32_t c) {
  if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff) {
    c = 0xfffd;
  }
  const auto put = [&](char32_t byte) {
    text.push_back(static_cast<char>(byte));
  };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

}  // namespace hangdbg
