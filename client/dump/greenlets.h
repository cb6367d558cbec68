// Greenlets as a person reads them: where each left off.
#pragma once

#include <string>

#include "client/render.h"
#include "inspector/greenlets.h"

namespace hangdbg {

std::string greenlets_text(const Greenlets& greenlets,
                           bool full_filenames,
                           const Palette& out);

}  // namespace hangdbg
