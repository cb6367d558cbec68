// What `hangdbg dist` prints for a person.
#pragma once

#include <string>

#include "client/terminal/render.h"
#include "client/views/dist/report.h"

namespace hangdbg {

// Without the job itself, and connections: what is wrong, groups, calls.
std::string dist_progress_text(const DistReport& report, const Palette& out);

std::string dist_text(const DistReport& report, const Palette& out);

}  // namespace hangdbg
