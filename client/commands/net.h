// hangdbg net: the sockets of a process, unusual ones first.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_net(cli::Command program);

}  // namespace hangdbg
