// A lock as commands show it in JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/evidence/awaited_lock.h"
#include "protocol/reports/lock.h"

namespace hangdbg {

reports::SeenLock to_json(const SeenLock& from);

}  // namespace hangdbg
