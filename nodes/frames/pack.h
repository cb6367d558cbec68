// Compressed bytes, of which a hostile node's must not fill the memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hangdbg {

// zlib's format.
std::string pack(std::string_view bytes);
// As gzip writes it; `level` 1 to 9.
std::string pack_gzip(std::string_view bytes, int level);

// Exactly `size` bytes come out. Errors: BadMessage.
Result<std::string> unpack(std::string_view packed, std::size_t size);

}  // namespace hangdbg
