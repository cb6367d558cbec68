// Which part of the source an instruction belongs to, by the table that its
// code object carries. There have been three formats:
//
//   to 3.9:    co_lnotab, pairs of a step in the code and a step in the lines
//              (Objects/lnotab_notes.txt)
//   3.10:      co_linetable, the same, but a pair speaks of the range that it
//              ends, and a range may have no line (PEP 626)
//   from 3.11: locations with columns (Objects/locations.md, from 3.13 on
//              InternalDocs/code_objects.md)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hangdbg {

// As code.co_positions() has it.
struct SourceSpan {
  int line = 0;         // 0: none
  int end_line = 0;     // 0: unknown, as before 3.11
  int column = -1;      // in bytes from the line's start; -1: unknown
  int end_column = -1;  // one past the last

  bool operator==(const SourceSpan&) const = default;
};

// `offset` counts bytes from the first instruction; one before it (a frame that
// has not begun) is in the first line. No line: the instruction has none, or
// the table makes no sense.
SourceSpan span_at(std::span<const std::byte> table,
                   int minor,  // of 3.x
                   int first_line,
                   std::int64_t offset);

// Of that only the line.
inline int line_at(std::span<const std::byte> table,
                   int minor,
                   int first_line,
                   std::int64_t offset) {
  return span_at(table, minor, first_line, offset).line;
}

}  // namespace hangdbg
