// hangdbg report: all that there is to say of a process or a job, as one file.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_report(CLI::App& app, Run& chosen);

}  // namespace hangdbg
