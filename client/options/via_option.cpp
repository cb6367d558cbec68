#include "client/options/via_option.h"

namespace hangdbg {

void add_via_option(cli::Command command, ViaOption& option) {
  command
      .add_option("--via", option.how,
                  "Run on these nodes, e.g. ssh:n[1-8], srun:4242, "
                  "kubectl:app=train (see docs/nodes.md)")
      .type_name("LAUNCHER:NODES");
}

}  // namespace hangdbg
