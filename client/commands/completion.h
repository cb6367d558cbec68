// `hangdbg completion SHELL`: what makes a shell complete hangdbg's words; and
// what that asks us at each Tab.
#pragma once

#include <span>

#include "client/options/cli.h"

namespace hangdbg {

void add_completion(cli::Command program);

// `hangdbg __complete WORDS...`: a candidate a line, with what it is behind a
// tab;
// ":files" for the shell's own. `words` are those behind `__complete`. 0.
int print_completions(const CLI::App& app, std::span<char* const> words);

}  // namespace hangdbg
