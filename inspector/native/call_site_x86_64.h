// What calls what, read from machine code: the call before a return address,
// and the jumps by which a function ends in another.
#pragma once

#include <optional>
#include <vector>

#include "tracee/elf/elf_symbols.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

struct CallSite {
  Address target;  // 0 when the code alone does not tell
};

// Empty when no call instruction ends just before `after`.
std::optional<CallSite> call_before(const MemoryReader& memory, Address after);

// What a stub of the procedure linkage table jumps to; `code` if it is none.
Address behind_stub(const MemoryReader& memory, Address code);

// Where a function can jump to outside of itself, as a compiler makes it of
// `return f();`. 0 for a jump of which the code does not tell where. May name
// more: bytes that look like a jump.
std::vector<Address> jumps_out_of(const MemoryReader& memory,
                                  AddressRange function);

}  // namespace hangdbg
