#include "inspector/cpython/line_table.h"

#include <limits>
#include <optional>

namespace hangdbg {
namespace {

using Table = std::span<const std::byte>;

constexpr int kUnitSize = 2;  // of an instruction and its inline caches

std::int64_t line_in_lnotab(Table table,
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

std::int64_t line_in_ranges(Table table,
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

// Six bits a byte, the lowest first; bit 6 says that more follow. The sign is
// the lowest bit of the whole.
std::optional<std::int64_t> signed_varint(Table bytes) {
  constexpr std::uint8_t kMore = 0x40;
  std::uint64_t value = 0;
  unsigned shift = 0;
  for (const std::byte one : bytes) {
    const auto byte = std::to_integer<std::uint8_t>(one);
    value |= std::uint64_t{byte & 0x3fU} << shift;
    shift += 6;
    if ((byte & kMore) == 0) {
      const auto size = static_cast<std::int64_t>(value >> 1);
      return (value & 1) != 0 ? -size : size;
    }
    if (shift > 32) {
      break;
    }
  }
  return {};
}

// Each entry starts with a byte that has bit 7: a kind in the next four, the
// size of its range in the last three. The rest, without bit 7, depends on the
// kind.
std::int64_t line_in_locations(Table table,
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
  std::int64_t end = 0;
  while (!table.empty() && starts_entry(table[0])) {
    const auto head = std::to_integer<std::uint8_t>(table[0]);
    const std::uint8_t kind = head >> 3 & 0xf;
    table = table.subspan(1);
    if (kind >= OneLine0 && kind <= OneLine2) {
      line += kind - OneLine0;
    } else if (kind == NoColumns || kind == Long) {
      const auto step = signed_varint(table);
      if (!step) {
        return 0;
      }
      line += *step;
    }
    end += ((head & 7) + 1) * kUnitSize;
    if (offset < end) {
      return kind == None ? 0 : line;
    }
    while (!table.empty() && !starts_entry(table[0])) {
      table = table.subspan(1);
    }
  }
  return 0;
}

}  // namespace

int line_at(Table table, int minor, int first_line, std::int64_t offset) {
  if (offset < 0) {
    return first_line;
  }
  const std::int64_t line =
      minor < 10    ? line_in_lnotab(table, first_line, offset)
      : minor == 10 ? line_in_ranges(table, first_line, offset)
                    : line_in_locations(table, first_line, offset);
  return line > 0 && line <= std::numeric_limits<int>::max()
             ? static_cast<int>(line)
             : 0;
}

}  // namespace hangdbg
