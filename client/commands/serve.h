// hangdbg serve: sessions for editors that connect.
#pragma once

#include "client/options.h"

namespace hangdbg {

void add_serve(CLI::App& app, Run& chosen);

}  // namespace hangdbg
