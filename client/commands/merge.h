// `hangdbg merge FILE...`: the dumps of many machines as one tree.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_merge(cli::Command program);

}  // namespace hangdbg
