// Where a breakpoint is wanted, as it is typed.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "client/prompt/breakpoints.h"
#include "client/prompt/prompt.h"

namespace hangdbg {

// "train.py:12, step > 3", "12", "Net.forward", "pkg.module:12". Errors: Usage.
Result<PromptBreakpoint> parse_place(PromptState& state,
                                     std::string_view argument);

// That of a file, or of a module by its name. Errors: Usage.
Result<std::string> path_of(PromptState& state, std::string_view name);

// "rounds", "Counter.count", "pkg.mod.f".
bool is_dotted_name(std::string_view name);

// What a simple string, that of a name, is in the frame. Errors: those of
// evaluate.
Result<std::string> string_in_frame(PromptState& state,
                                    const std::string& expression);

}  // namespace hangdbg
