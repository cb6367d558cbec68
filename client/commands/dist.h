// hangdbg dist PID | --job JOB: the process groups of a job, who of it is
// behind, and between whom nothing comes any more.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_dist(cli::Command program);

}  // namespace hangdbg
