// The search table for unwind information that the linker has made none for
// (no PT_GNU_EH_FRAME: musl-gcc asks for none, old static programs have none).
//
// No program header tells then where .eh_frame is. It is found in the module's
// read-only memory by its shape: a chain of records, each of which names the
// one that it belongs to (Linux Standard Base, "Exception Frames").
#pragma once

#include <cstdint>
#include <vector>

#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

// As in .eh_frame_hdr: both from the module's base.
struct FrameTableEntry {
  std::int32_t code;    // where a function begins
  std::int32_t record;  // its FDE
};
static_assert(sizeof(FrameTableEntry) == 8);

// By code. Empty when nothing was found.
std::vector<FrameTableEntry> find_frame_table(const MemoryReader& memory,
                                              const Module& module);

}  // namespace hangdbg
