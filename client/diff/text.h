// What `hangdbg diff` prints for a person.
#pragma once

#include <string>

#include "client/diff/comparison.h"
#include "client/render.h"

namespace hangdbg {

std::string comparison_text(const Side& a,
                            const Side& b,
                            const Comparison& found,
                            const Palette& out);

}  // namespace hangdbg
