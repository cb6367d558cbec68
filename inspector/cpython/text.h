// A Python str, read from outside as UTF-8.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "inspector/cpython/layout.h"
#include "tracee/address.h"
#include "tracee/memory.h"

namespace hangdbg {

// At most `limit` code points; a longer one ends in "…". Lone surrogates
// become U+FFFD. Errors: Unreadable, also when there is no compact str there.
Result<std::string> read_str(const MemoryReader& memory,
                             const CPythonLayout& layout,
                             Address object,
                             std::size_t limit);

}  // namespace hangdbg
