#include "inspector/cpython/code/exception_table.h"

#include <optional>

#include "inspector/cpython/code/instructions.h"

namespace hangdbg {

// Entries of start, length, target and depth with a flag, which are sorted and
// do not overlap; numbers of 6 bits a byte, the most significant first.
std::vector<HandledRange> read_exception_table(
    std::span<const std::byte> table) {
  constexpr std::uint8_t kMore = 0x40;
  constexpr std::uint8_t kValue = 0x3f;
  std::vector<HandledRange> found;
  std::size_t at = 0;
  const auto next = [&]() -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    while (at < table.size()) {
      const auto byte = std::to_integer<std::uint8_t>(table[at++]);
      value = (value << 6 | (byte & kValue)) & 0x7fff'ffff;
      if ((byte & kMore) == 0) {
        return value;
      }
    }
    return {};
  };
  while (true) {
    const auto start = next();
    const auto length = next();
    const auto target = next();
    const auto depth = next();
    if (!start || !length || !target || !depth) {
      return found;
    }
    found.push_back({*start * kCodeUnit, (*start + *length) * kCodeUnit,
                     *target * kCodeUnit,
                     static_cast<std::uint64_t>(*depth >> 1)});
  }
}

}  // namespace hangdbg
