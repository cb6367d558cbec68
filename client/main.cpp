// hangdbg: the debugger for hung Python processes. See docs/architecture.md.
#include <csignal>

#include "client/command_line.h"

int main(int argc, char** argv) {
  // A reader that goes (`hangdbg eval ... | head -1`, a target that dies) is
  // an error where it is written to, not the end.
  std::signal(SIGPIPE, SIG_IGN);
  return hangdbg::run_command_line(argc, argv);
}
