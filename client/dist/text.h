// What `hangdbg dist` prints for a person.
#pragma once

#include <string>

#include "client/dist/report.h"
#include "client/render.h"

namespace hangdbg {

std::string dist_text(const DistReport& report, const Palette& out);

}  // namespace hangdbg
