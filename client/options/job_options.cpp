#include "client/options/job_options.h"

namespace hangdbg {

void add_job_options(cli::Command command, JobOptions& options) {
  command
      .add_option("--job", options.job,
                  "Use the ranks of this parallel job: its name, the PID of "
                  "its launcher, or auto (the only one)")
      .type_name("JOB|auto");
  command
      .add_option("--ranks", options.ranks,
                  "Only these ranks, e.g. 0,3-5; !0: all but 0")
      .type_name("SET|all");
  // Of another machine's hangdbg (--via).
  command.add_flag("--ranks-elsewhere", options.some_elsewhere).hidden();
}

}  // namespace hangdbg
