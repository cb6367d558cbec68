// hangdbg connect: the prompt of `attach`, where a `hangdbg serve` is.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_connect(CLI::App& app, Run& chosen);

}  // namespace hangdbg
