// What in `hangdbg run ...` and `hangdbg record ... -- ...` is the program's,
// word for word.
#pragma once

#include <span>

namespace hangdbg {

struct RunWords {
  std::span<char*> program;  // SCRIPT or COMMAND, and what follows it
  bool is_command = false;   // behind "--"
};

// CLI11, which would take "[a,b]" for two words, is to see the others only.
// None where the command is another one.
RunWords split_run_words(std::span<char*> words);

}  // namespace hangdbg
