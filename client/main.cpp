// hangdbg: the debugger for hung Python processes. See docs/architecture.md.
#include "client/broken_pipe.h"
#include "client/command_line.h"

int main(int argc, char** argv) {
  hangdbg::ignore_broken_pipes();
  return hangdbg::run_command_line(argc, argv);
}
