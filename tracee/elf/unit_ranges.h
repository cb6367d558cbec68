// Which code each compilation unit has, from .debug_aranges (DWARF 5, section
// 6.1.2), where there is one: it is a hundredth of the line tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tracee/elf/elf_symbols.h"

namespace hangdbg {

// The units that have no requested code.
class OtherUnits {
 public:
  // `asked` is sorted; its addresses are those of the file.
  OtherUnits(std::span<const std::byte> ranges,
             std::span<const std::uint64_t> asked);

  // Whether one of them, and no other unit, has that code.
  bool have(std::uint64_t code) const;

 private:
  std::vector<AddressRange> others_;
  std::vector<AddressRange> asked_;
};

}  // namespace hangdbg
