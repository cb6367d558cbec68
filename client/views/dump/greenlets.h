// Greenlets as a person reads them: where each left off.
#pragma once

#include <string>

#include "client/terminal/render.h"
#include "inspector/cpython/async/greenlets.h"

namespace hangdbg {

std::string greenlets_text(const Greenlets& greenlets,
                           bool full_filenames,
                           const Palette& out);

}  // namespace hangdbg
