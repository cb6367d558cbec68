// `hangdbg break`: breakpoints on some ranks of a job, which survives them.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_break(cli::Command program);

}  // namespace hangdbg
