// hangdbg threads: what each thread does, in which system call, and for what.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_threads(CLI::App& app, Run& chosen);

}  // namespace hangdbg
