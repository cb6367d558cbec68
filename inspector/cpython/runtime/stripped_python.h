// An interpreter without any symbols: no way in, but enough of it is there to
// say what it is.
#pragma once

#include <optional>
#include <string>

#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

// "python 3.13.0" (which describes itself), "a python" (by a text that every
// version has), or nothing when the module has no interpreter in it.
std::optional<std::string> find_stripped_python(const MemoryReader& memory,
                                                const Module& module);

}  // namespace hangdbg
