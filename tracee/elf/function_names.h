// The names of functions by their addresses, many at once.
//
// A library may have half a million symbols and 80 MB of names, so its table is
// read once, in pieces, for all requested addresses; of the names only
// those that are found. Tables are searched in the order of their size: what a
// module exports, what its file has beside, its debug file, what is compressed.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "tracee/elf/elf_symbols.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/target_files.h"

namespace hangdbg {

// As the compiler calls them, "_ZN3foo3barEv"; without those that no table has.
using FunctionNames = std::map<Address, std::string>;

// Of code of one module of the live process `pid`.
FunctionNames function_names(const TargetFiles& files,
                             const MemoryReader& memory,
                             const Module& module,
                             std::span<const Address> code);

// In one table, `bytes` being what it lies in. `bias` is added to a symbol's
// value.
FunctionNames function_names(const MemoryReader& bytes,
                             const SymbolTable& table,
                             std::uint64_t bias,
                             std::span<const Address> code);

}  // namespace hangdbg
