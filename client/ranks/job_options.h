// --job and --ranks, for the commands that have them.
#pragma once

#include "inspector/jobs/choice.h"

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}

namespace hangdbg {

void add_job_options(CLI::App& command, JobOptions& options);

}  // namespace hangdbg
