// Asyncio tasks as a person reads them: below each, those that it waits for.
#pragma once

#include <string>

#include "client/terminal/render.h"
#include "inspector/cpython/async/asyncio_tasks.h"

namespace hangdbg {

std::string tasks_text(const AsyncioTasks& tasks,
                       bool full_filenames,
                       const Palette& out);

}  // namespace hangdbg
