// hangdbg node: what runs on a node for who asks it (--via). Not for people: no
// help shows it.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_node(cli::Command program);

}  // namespace hangdbg
