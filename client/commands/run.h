// hangdbg run SCRIPT ARGS...: a program under the debugger (client/run).
// hangdbg run -- COMMAND ARGS...: becomes COMMAND, which its user may attach to
// where Yama lets only an ancestor trace (docs/decisions/0029).
#pragma once

#include "client/options/cli.h"
#include "client/run/words.h"

namespace hangdbg {

// `words`: null-terminated as argv is.
void add_run(cli::Command program, const RunWords& words);

}  // namespace hangdbg
