// --via HOW: the nodes on which a command runs.
#pragma once

#include <string>

#include "client/options/cli.h"

namespace hangdbg {

struct ViaOption {
  std::string how;  // "ssh:n[1-3]"

  bool given() const { return !how.empty(); }
};

void add_via_option(cli::Command command, ViaOption& option);

}  // namespace hangdbg
