// `hangdbg diagnose PID`: why it hangs, with the evidence.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_diagnose(cli::Command program);

}  // namespace hangdbg
