// A Python str, read out of process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "inspector/cpython/layout/layout.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

struct CodePoints {
  std::u32string text;       // as many as were requested
  std::uint64_t length = 0;  // of the whole str
};

// At most `limit` code points, lone surrogates too, and of any kind of str.
// Errors: Unreadable, also when there is no str there.
Result<CodePoints> read_code_points(const MemoryReader& memory,
                                    const CPythonLayout& layout,
                                    Address object,
                                    std::size_t limit);

// The same as UTF-8; a longer one ends in "…", and what is no character
// becomes U+FFFD.
Result<std::string> read_str(const MemoryReader& memory,
                             const CPythonLayout& layout,
                             Address object,
                             std::size_t limit);

void append_utf8(std::string& text, char32_t c);

}  // namespace hangdbg
