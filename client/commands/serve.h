// hangdbg serve: sessions for editors that connect.
#pragma once

#include "client/options/cli.h"

namespace hangdbg {

void add_serve(cli::Command program);

}  // namespace hangdbg
