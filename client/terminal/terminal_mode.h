// This terminal while a remote program has it: each key goes there, and
// comes back as that program shows it.
#pragma once

#include <termios.h>

#include "base/fd.h"
#include "protocol/requests/terminal/terminal.h"

namespace hangdbg {

class TerminalMode {
 public:
  // Of stdin. What is not a terminal stays as it is.
  TerminalMode();
  ~TerminalMode();
  TerminalMode(const TerminalMode&) = delete;
  TerminalMode& operator=(const TerminalMode&) = delete;

 private:
  bool changed_ = false;
  termios before_{};
};

dap::Screen size_of_terminal();

// What is typed, or stdin: a description of our own where that can be had,
// since ours will not block, and our parent has the same stdin.
Fd open_input();

}  // namespace hangdbg
