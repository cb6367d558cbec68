// What `hangdbg diff --json` prints.
#pragma once

#include "client/views/diff/comparison.h"
#include "protocol/json.h"

namespace hangdbg {

Json comparison_json(const Side& a, const Side& b, const Comparison& found);

}  // namespace hangdbg
