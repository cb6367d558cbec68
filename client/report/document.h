// report.json: where it was made, and how one finds a part of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/reports/report.h"

namespace hangdbg {

constexpr std::string_view kReportFile = "report.json";

// This machine as it is now.
reports::ReportMachine this_machine();

// The first part of that name, or of that name and process; null if there is
// none.
const Json& part_of(const reports::ReportDocument& document,
                    std::string_view name,
                    std::optional<std::int64_t> pid = {});

}  // namespace hangdbg
