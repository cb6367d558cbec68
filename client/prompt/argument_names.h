// What a command's argument may be, for Tab.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/prompt/prompt.h"

namespace hangdbg {

// How the last word of an argument may be completed: by these, or as Python.
struct ArgumentNames {
  std::vector<std::string> words;  // whole ones, fit or not
  bool is_python = false;
};

// `argument`: what follows the command's name, up to the cursor, with what
// follows the last separator as its last word. Asks the target only for what is
// known there, and runs none of its code.
ArgumentNames argument_names(PromptState& state,
                             std::string_view command,
                             std::string_view argument,
                             Deadline deadline);

// The part of an argument that a Tab completes.
std::string_view last_word(std::string_view command, std::string_view argument);

}  // namespace hangdbg
