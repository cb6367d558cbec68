// How `hangdbg locks` shows locks.
#pragma once

#include <string>

#include "client/terminal/render.h"
#include "diagnosis/evidence/locks.h"
#include "protocol/json.h"

namespace hangdbg {

std::string locks_text(const SeenLocks& all, const Palette& out);
Json locks_json(const SeenLocks& all);

}  // namespace hangdbg
