// How `hangdbg threads` shows what threads do.
#pragma once

#include <string>

#include "client/terminal/render.h"
#include "diagnosis/evidence/threads.h"
#include "protocol/json.h"

namespace hangdbg {

std::string threads_text(const SeenThreads& all, const Palette& out);
Json threads_json(const SeenThreads& all);

}  // namespace hangdbg
