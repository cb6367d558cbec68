// hangdbg core FILE [EXE]: what dump shows, from a core file.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_core(cli::Command program);

}  // namespace hangdbg
