// Which process is meant where none is named: the only one that hangs here.
#pragma once

#include "base/deadline.h"
#include "base/result.h"

namespace hangdbg {

// Says on stderr which one it is. Error: Usage, where none hangs, or several.
Result<int> only_hung_process(Deadline deadline);

}  // namespace hangdbg
