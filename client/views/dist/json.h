// What `hangdbg dist --json` prints.
#pragma once

#include "client/views/dist/report.h"
#include "protocol/json.h"

namespace hangdbg {

Json dist_json(const DistReport& report);

}  // namespace hangdbg
