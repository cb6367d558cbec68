// `hangdbg break`: breakpoints on some ranks of a job, which survives them.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_break(CLI::App& app, Run& chosen);

}  // namespace hangdbg
