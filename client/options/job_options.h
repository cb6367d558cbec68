// --job and --ranks, for the commands that have them.
#pragma once

#include "client/options/cli.h"
#include "inspector/jobs/choice.h"

namespace hangdbg {

void add_job_options(cli::Command command, JobOptions& options);

}  // namespace hangdbg
