// hangdbg net: the sockets of a process, odd ones first.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_net(CLI::App& app, Run& chosen);

}  // namespace hangdbg
