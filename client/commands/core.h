// hangdbg core FILE [EXE]: what dump shows, from a core file.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_core(CLI::App& app, Run& chosen);

}  // namespace hangdbg
