// hangdbg record PID... | -- COMMAND: where the time goes.
#pragma once

#include "client/options/cli.h"
#include "client/run/words.h"

namespace hangdbg {

void add_record(cli::Command program, const RunWords& words);

}  // namespace hangdbg
