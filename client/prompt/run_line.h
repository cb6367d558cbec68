// One line of the prompt, or a statement of several, is run.
#pragma once

#include <string_view>

#include "base/result.h"
#include "client/prompt/prompt.h"
#include "server/session/pdb_line.h"

namespace hangdbg {

// The exit code. What is pasted may be Python that looks like a command.
int run_line(PromptState& state, std::string_view line, bool pasted = false);

// Whether the line is code that may look like a command: pasted, or indented.
bool is_code(std::string_view line, bool pasted);
// What a line means.
TypedCommand typed_command(std::string_view text, bool is_code);

// Shows how a command went; the exit code.
int finish(PromptState& state, const Status& done);
int show_failure(const PromptState& state, const Error& error);

// No more requests are possible.
bool target_is_lost(const PromptState& state);

}  // namespace hangdbg
