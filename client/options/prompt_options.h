// What a prompt is told on the command line, here (`attach`) and on another
// machine (`connect`).
#pragma once

#include <string>
#include <vector>

#include "client/options/options.h"

namespace hangdbg {

struct PromptOptions {
  std::vector<std::string> commands;  // instead of those that are typed
  PlaceOptions place;
};

// -c, --thread, --frame.
void add_prompt_options(cli::Command command, PromptOptions& options);

}  // namespace hangdbg
