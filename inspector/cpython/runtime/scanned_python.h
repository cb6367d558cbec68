// An interpreter in a module without any symbols, found by what its memory must
// look like: enough to read it, not enough to call it.
//
// _PyRuntime is among the module's variables. From 3.13 on it starts with a
// cookie. Before, each place is tried that may have it: its interpreter has
// threads that point back to it, and their frames have code objects, whose type
// says so. Which version to expect is in the text that sys.version begins with.
// In 3.6 the list of interpreters is a variable of its own.
#pragma once

#include <optional>

#include "inspector/cpython/runtime/python_runtime.h"
#include "tracee/elf/elf_symbols.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

// Of 3.6, which has no _PyRuntime: its variable interp_head.
std::optional<Address> scan_for_interpreters(const MemoryReader& memory,
                                             const ElfImage& image);

// Its `module` is not set. Nothing where there is none, or none that runs
// Python right now.
std::optional<PythonRuntime> scan_for_python(const MemoryReader& memory,
                                             const Module& module,
                                             const ElfImage& image);

}  // namespace hangdbg
