// `hangdbg diagnose PID`: why it hangs, with the evidence.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_diagnose(CLI::App& app, Run& chosen);

}  // namespace hangdbg
