// A rank as another machine's `dist --json` tells of it.
#pragma once

#include "client/views/dist/report.h"
#include "protocol/reports/dist.h"

namespace hangdbg {

DistRank read_back(const reports::DistRank& said);

}  // namespace hangdbg
