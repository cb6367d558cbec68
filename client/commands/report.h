// hangdbg report: all that there is to say of a process or a job, as one file.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_report(cli::Command program);

}  // namespace hangdbg
