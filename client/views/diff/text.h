// What `hangdbg diff` prints for a person.
#pragma once

#include <string>

#include "client/terminal/render.h"
#include "client/views/diff/comparison.h"

namespace hangdbg {

std::string comparison_text(const Side& a,
                            const Side& b,
                            const Comparison& found,
                            const Palette& out);

}  // namespace hangdbg
