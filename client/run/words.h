// What in `hangdbg run ...` is the program's, word for word.
#pragma once

#include <span>

namespace hangdbg {

struct RunWords {
  std::span<char*> program;  // SCRIPT or COMMAND, and what follows it
  bool is_command = false;   // behind "--"
};

// CLI11, which would take "[a,b]" for two words, is to see the others only.
// None where the command is not `run`.
RunWords split_run_words(std::span<char*> words);

}  // namespace hangdbg
