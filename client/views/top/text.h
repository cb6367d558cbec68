// `top` once: as text, as JSON.
#pragma once

#include <string>

#include "client/terminal/render.h"
#include "client/views/top/rows.h"
#include "protocol/reports/top.h"

namespace hangdbg {

// What became of the samples; processes, if there are several; threads; the
// functions with the most own time.
std::string top_text(const TopData& data,
                     std::size_t columns,
                     const Palette& palette);
reports::Top top_report(const TopData& data);

}  // namespace hangdbg
