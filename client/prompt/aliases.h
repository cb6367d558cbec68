// Commands of the user's own.
#pragma once

#include <string>

namespace hangdbg {

struct PromptState;

// The line, with what the alias stands for that it begins with.
std::string expand_alias(const PromptState& state, std::string line);

}  // namespace hangdbg
