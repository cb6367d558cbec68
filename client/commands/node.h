// hangdbg node: what runs on a node for the asking side (--via). Not for users:
// no help shows it.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_node(cli::Command program);

}  // namespace hangdbg
