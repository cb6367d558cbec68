// Which line of the source an instruction belongs to, by the table that its
// code object carries. There have been three formats:
//
//   3.7 to 3.9    co_lnotab: pairs of a step in the code and a step in the
//   lines
//                 (Objects/lnotab_notes.txt)
//   3.10          co_linetable: the same, but a pair speaks of the range that
//   it
//                 ends, and a range may have no line (PEP 626)
//   from 3.11 on  locations with columns (Objects/locations.md, from 3.13 on
//                 InternalDocs/code_objects.md)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hangdbg {

// `offset` counts bytes from the first instruction; one before it (a frame that
// has not begun) is in the first line. 0: the instruction has no line, or the
// table makes no sense.
int line_at(std::span<const std::byte> table,
            int minor,  // of 3.x
            int first_line,
            std::int64_t offset);

}  // namespace hangdbg
