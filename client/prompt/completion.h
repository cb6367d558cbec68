// Tab: what may be at the cursor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/prompt/prompt.h"

namespace hangdbg {

struct Completion {
  std::string common;               // to be inserted at the cursor
  std::vector<std::string> labels;  // all there are, when more than one
};

// Asks the target for names (running none of its code), and adds the commands
// where one may be. Empty if there is nothing, or no answer soon.
Completion complete(PromptState& state, std::string_view before_cursor);

// In columns, as wide as the terminal is.
void list_labels(const std::vector<std::string>& labels);

// The longest text that all the words begin with; whole characters of UTF-8.
std::string common_prefix(const std::vector<std::string>& words);

}  // namespace hangdbg
