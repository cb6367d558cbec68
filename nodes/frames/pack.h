// Compressed bytes, of which a hostile node's must not fill the memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hangdbg {

// zlib's format.
std::string pack(std::string_view bytes);
// gzip's format, by all CPUs. Empty: there is no memory.
std::string pack_gzip(std::string_view bytes);

// Exactly `size` bytes come out. Errors: BadMessage.
Result<std::string> unpack(std::string_view packed, std::size_t size);

}  // namespace hangdbg
