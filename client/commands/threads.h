// hangdbg threads: what each thread does, in which system call, and for what.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_threads(cli::Command program);

}  // namespace hangdbg
