// What `hangdbg dist` prints for a person.
#pragma once

#include <string>

#include "client/terminal/render.h"
#include "client/views/dist/report.h"

namespace hangdbg {

std::string dist_text(const DistReport& report, const Palette& out);

}  // namespace hangdbg
