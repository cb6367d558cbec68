// README.md of a report: what to paste into an issue, and what is where.
#pragma once

#include <string>

#include "client/report/document.h"
#include "client/report/gather.h"

namespace hangdbg {

std::string report_readme(const reports::ReportDocument& document,
                          const Gathered& gathered,
                          bool locals);

}  // namespace hangdbg
