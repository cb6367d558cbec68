// `hangdbg run SCRIPT`: the program runs as it would without hangdbg, and a
// prompt opens where it wants one: at an uncaught exception, and at its
// breakpoint().
#pragma once

#include <span>
#include <string>
#include <vector>

#include "client/options/options.h"
#include "client/terminal/render.h"

namespace hangdbg {

struct ScriptOptions {
  CommonOptions common;
  std::string python = "python3";
  bool module = false;
  bool post_mortem = true;
  bool stop = false;                  // at its first line
  std::vector<std::string> commands;  // to run in place of a prompt
};

// The exit code: the program's; 128 and the signal that has ended it.
Result<int> run_script(const ScriptOptions& options,
                       std::span<char*> words,
                       const Palette& err);

}  // namespace hangdbg
