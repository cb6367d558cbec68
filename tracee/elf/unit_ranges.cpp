#include "tracee/elf/unit_ranges.h"

#include <algorithm>

#include "tracee/elf/dwarf_cursor.h"

namespace hangdbg {
namespace {

using Ranges = std::vector<AddressRange>;

// One unit's ranges, each an address and a size, after a head that is padded to
// the size of both. Those of functions that the linker has dropped begin at 0.
Ranges read_set(DwarfCursor at, std::size_t head_size, bool wide) {
  constexpr std::size_t kRangeSize = 16;
  const std::size_t size = head_size + at.rest().size();
  const auto version = at.take<std::uint16_t>();
  at.skip(wide ? 8 : 4);  // where the unit itself is
  const auto address_size = at.take<std::uint8_t>();
  const auto segment_size = at.take<std::uint8_t>();
  at.skip((at.rest().size() - size) % kRangeSize);
  Ranges ranges;
  while (version == 2 && address_size == 8 && segment_size == 0 && !at.done()) {
    const Address start{at.take<std::uint64_t>()};
    const auto length = at.take<std::uint64_t>();
    if (start && !at.failed()) {
      ranges.push_back({start, start + length});
    }
  }
  return ranges;
}

// Sorted, and none inside another.
void unite(Ranges& ranges) {
  std::ranges::sort(ranges, {}, &AddressRange::start);
  Ranges united;
  for (const AddressRange& range : ranges) {
    if (!united.empty() && range.start <= united.back().end) {
      united.back().end = std::max(united.back().end, range.end);
    } else {
      united.push_back(range);
    }
  }
  ranges = std::move(united);
}

bool covers(const Ranges& ranges, Address code) {
  const auto after =
      std::ranges::upper_bound(ranges, code, {}, &AddressRange::start);
  return after != ranges.begin() && std::prev(after)->contains(code);
}

}  // namespace

OtherUnits::OtherUnits(std::span<const std::byte> ranges,
                       std::span<const std::uint64_t> asked) {
  DwarfCursor at(ranges);
  while (!at.done()) {
    std::uint64_t size = at.take<std::uint32_t>();
    const bool wide = size == 0xffff'ffff;
    if (wide) {
      size = at.take<std::uint64_t>();
    }
    const Ranges unit =
        read_set(DwarfCursor(at.skip(size)), wide ? 12 : 4, wide);
    const bool is_asked =
        std::ranges::any_of(unit, [&](const AddressRange& range) {
          const auto first = std::ranges::lower_bound(asked, range.start.value);
          return first != asked.end() && *first < range.end.value;
        });
    Ranges& all = is_asked ? asked_ : others_;
    all.insert(all.end(), unit.begin(), unit.end());
  }
  unite(others_);
  unite(asked_);
}

bool OtherUnits::have(std::uint64_t code) const {
  return covers(others_, Address{code}) && !covers(asked_, Address{code});
}

}  // namespace hangdbg
