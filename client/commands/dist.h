// hangdbg dist PID | --job JOB: the process groups of a job, the ranks that are
// behind, and the connections that carry nothing any more.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_dist(cli::Command program);

}  // namespace hangdbg
