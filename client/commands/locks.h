// hangdbg locks: who has which lock, who waits for it, and who for whom in a
// circle.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_locks(CLI::App& app, Run& chosen);

}  // namespace hangdbg
