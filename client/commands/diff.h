// hangdbg diff: what is different where it hangs.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_diff(CLI::App& app, Run& chosen);

}  // namespace hangdbg
