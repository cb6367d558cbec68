#include "client/options/via_option.h"

namespace hangdbg {

void add_via_option(cli::Command command, ViaOption& option) {
  command
      .add_option("--via", option.how,
                  "Run on these nodes, e.g. ssh:n[1-8], srun:4242, "
                  "kubectl:app=train; auto: those of the job that this machine "
                  "is part of (see docs/nodes.md)")
      .type_name("LAUNCHER:NODES");
}

}  // namespace hangdbg
