// From argv to a command's exit code.
#pragma once

namespace hangdbg {

int run_command_line(int argc, char** argv);

}  // namespace hangdbg
