// `hangdbg merge FILE...`: the dumps of many machines as one tree.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_merge(CLI::App& app, Run& chosen);

}  // namespace hangdbg
