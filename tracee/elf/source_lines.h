// The source lines of code, from DWARF's line tables (DWARF 5, section 6.2;
// versions 2 to 5).
//
// A module's tables are gone through once, up to the last of the requested
// addresses; those of units that have none of them (unit_ranges.h) are passed
// over. Nothing else of its debug information is read: what it says of
// functions and types is ten times as much. Each size is bounded before it is
// used, as in ElfImage.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "tracee/elf/section_reader.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/target_files.h"

namespace hangdbg {

struct SourceLine {
  std::string file;  // "/src/a.c"; relative where the table knows no more
  int line = 0;

  bool operator==(const SourceLine&) const = default;
};

// Without those that no table has.
using SourceLines = std::map<Address, SourceLine>;

// Of code of one module, from its file or its debug file.
SourceLines source_lines(const TargetFiles& files,
                         const MemoryReader& memory,
                         const Module& module,
                         std::span<const Address> code);

struct LineSections {
  SectionReader& lines;                     // .debug_line
  std::span<const std::byte> line_strings;  // .debug_line_str
  std::span<const std::byte> ranges;        // .debug_aranges; may be empty
};

// `bias` is added to the addresses that are in the table.
SourceLines source_lines(const LineSections& sections,
                         std::uint64_t bias,
                         std::span<const Address> code);

}  // namespace hangdbg
