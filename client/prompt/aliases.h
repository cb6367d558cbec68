// Commands of the user's own.
#pragma once

#include <string>

namespace hangdbg {

struct PromptState;

// The line, with the alias that it begins with expanded.
std::string expand_alias(const PromptState& state, std::string line);

}  // namespace hangdbg
