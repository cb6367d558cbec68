#include "client/options/job_options.h"

namespace hangdbg {

void add_job_options(cli::Command command, JobOptions& options) {
  command
      .add_option("--job", options.job,
                  "The ranks of a parallel job: its name, its launcher's PID, "
                  "or auto")
      .type_name("JOB|auto");
  command
      .add_option("--ranks", options.ranks,
                  "Those alone: 0 or 0,3-5 or all or !0 (all others)")
      .type_name("SET|all");
}

}  // namespace hangdbg
