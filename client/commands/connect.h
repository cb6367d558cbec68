// hangdbg connect: the prompt of `attach`, where a `hangdbg serve` is.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_connect(cli::Command program);

}  // namespace hangdbg
