// What an interpreter's own table says of objects (_Py_DebugOffsets, from 3.13
// on), in the place of what a row says: patch releases move what headers of
// another one tell.
//
// Of what the table lacks, a row is right only for the structures that it was
// made from. Where the table shows that these are others, such a field is
// absent rather than wrong, or the row is not for this interpreter.
#pragma once

#include "base/result.h"
#include "inspector/cpython/layout/object_layout.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

// `row` is of that version and kind of build. Errors: Unreadable;
// UnsupportedPython when an offset makes no sense.
Result<ObjectLayout> with_told_offsets(const MemoryReader& memory,
                                       Address runtime,
                                       const ObjectLayout& row);

// Whether objects, frames and code are laid out in that one as in the row: what
// the table does not tell of them is then as in the row, too.
bool fits(const ObjectLayout& told, const ObjectLayout& row);

}  // namespace hangdbg
