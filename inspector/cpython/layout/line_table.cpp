#include "inspector/cpython/layout/line_table.h"

#include <limits>
#include <optional>

namespace hangdbg {
namespace {

using LineTable = std::span<const std::byte>;

constexpr int kUnitSize = 2;  // of an instruction and its inline caches

std::int64_t line_in_lnotab(LineTable table,
                            std::int64_t line,
                            std::int64_t offset) {
  std::int64_t start = 0;
  for (; table.size() >= 2; table = table.subspan(2)) {
    start += std::to_integer<std::uint8_t>(table[0]);
    if (start > offset) {
      break;
    }
    line += static_cast<std::int8_t>(table[1]);
  }
  return line;
}

std::int64_t line_in_ranges(LineTable table,
                            std::int64_t line,
                            std::int64_t offset) {
  constexpr std::int8_t kNoLine = -128;
  std::int64_t end = 0;
  for (; table.size() >= 2; table = table.subspan(2)) {
    end += std::to_integer<std::uint8_t>(table[0]);
    const auto step = static_cast<std::int8_t>(table[1]);
    if (step != kNoLine) {
      line += step;
    }
    if (offset < end) {
      return step == kNoLine ? 0 : line;
    }
  }
  return 0;
}

// A number is six bits a byte, the lowest first; bit 6 says that more follow.
// Takes its bytes off the table.
std::optional<std::int64_t> varint(LineTable& bytes) {
  constexpr std::uint8_t kMore = 0x40;
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift <= 30 && !bytes.empty(); shift += 6) {
    const auto byte = std::to_integer<std::uint8_t>(bytes[0]);
    bytes = bytes.subspan(1);
    value |= std::uint64_t{byte & 0x3fU} << shift;
    if ((byte & kMore) == 0) {
      return static_cast<std::int64_t>(value);
    }
  }
  return {};
}

// Its sign is the lowest bit.
std::optional<std::int64_t> signed_varint(LineTable& bytes) {
  const auto value = varint(bytes);
  return !value              ? std::nullopt
         : (*value & 1) != 0 ? std::optional(-(*value >> 1))
                             : std::optional(*value >> 1);
}

// Lines and columns as the table has them, before they are believed.
struct WideSpan {
  std::int64_t line = 0;
  std::int64_t end_line = 0;
  std::int64_t column = -1;
  std::int64_t end_column = -1;
};

// Each entry starts with a byte that has bit 7: a kind in the next four, the
// size of its range in the last three. The rest, without bit 7, depends on the
// kind.
WideSpan span_in_locations(LineTable table,
                           std::int64_t line,
                           std::int64_t offset) {
  enum Kind : std::uint8_t {
    OneLine0 = 10,
    OneLine2 = 12,
    NoColumns = 13,
    Long = 14,
    None = 15,
  };
  const auto starts_entry = [](std::byte byte) {
    return (byte & std::byte{0x80}) != std::byte{0};
  };
  const auto next = [&table]() -> std::int64_t {
    if (table.empty()) {
      return -1;
    }
    const auto byte = std::to_integer<std::uint8_t>(table[0]);
    table = table.subspan(1);
    return byte;
  };
  std::int64_t end = 0;
  while (!table.empty() && starts_entry(table[0])) {
    const std::int64_t head = next();
    const auto kind = static_cast<std::uint8_t>(head >> 3 & 0xf);
    WideSpan span;
    if (kind < OneLine0) {
      const std::int64_t columns = next();
      span.column = kind << 3 | (columns >> 4 & 7);
      span.end_column = span.column + (columns & 0xf);
    } else if (kind <= OneLine2) {
      line += kind - OneLine0;
      span.column = next();
      span.end_column = next();
    } else if (kind != None) {
      const auto step = signed_varint(table);
      if (!step) {
        return {};
      }
      line += *step;
    }
    span.line = span.end_line = line;
    if (kind == Long) {
      // Columns are counted from one there, 0 is none.
      span.end_line += varint(table).value_or(0);
      span.column = varint(table).value_or(0) - 1;
      span.end_column = varint(table).value_or(0) - 1;
    }
    end += ((head & 7) + 1) * kUnitSize;
    if (offset < end) {
      return kind == None ? WideSpan() : span;
    }
    while (!table.empty() && !starts_entry(table[0])) {
      table = table.subspan(1);
    }
  }
  return {};
}

}  // namespace

SourceSpan span_at(LineTable table,
                   int minor,
                   int first_line,
                   std::int64_t offset) {
  if (offset < 0) {
    return {.line = first_line};
  }
  const WideSpan wide =
      minor < 10 ? WideSpan{.line = line_in_lnotab(table, first_line, offset)}
      : minor == 10
          ? WideSpan{.line = line_in_ranges(table, first_line, offset)}
          : span_in_locations(table, first_line, offset);
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  if (wide.line <= 0 || wide.line > kMost) {
    return {};
  }
  SourceSpan span{.line = static_cast<int>(wide.line)};
  if (wide.end_line >= wide.line && wide.end_line <= kMost) {
    span.end_line = static_cast<int>(wide.end_line);
    span.column = static_cast<int>(wide.column);
    span.end_column = static_cast<int>(wide.end_column);
  }
  return span;
}

}  // namespace hangdbg
