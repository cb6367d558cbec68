// hangdbg run -- COMMAND ARGS...: becomes COMMAND, which its user may attach to
// where Yama lets only an ancestor trace (docs/decisions/0029).
#pragma once

#include <span>

#include "client/options.h"

namespace hangdbg {

// `command`: what stood after "--", null-terminated as argv is; empty without.
void add_run(CLI::App& app, Run& chosen, std::span<char*> command);

}  // namespace hangdbg
