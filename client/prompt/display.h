// Expressions that are shown again each time a thread stops in their function:
// display, undisplay.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hangdbg {

struct PromptState;

struct Display {
  std::string function;  // as by place_text, without the line
  std::string expression;
  std::string shown;  // the value, as it was shown last
};

// The values that have changed.
Status show_displays(PromptState& state);

}  // namespace hangdbg
