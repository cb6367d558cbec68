// Bytes in JSON, which has none (RFC 4648).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hangdbg {

std::string to_base64(std::string_view bytes);

// Error: BadMessage.
Result<std::string> from_base64(std::string_view text);

}  // namespace hangdbg
